import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  readonly name: string;
  readonly title: ComponentChildren;
  readonly isNumber?: boolean;
  /** Left out on narrow screens. */
  readonly isExtra?: boolean;
  /** There on narrow screens alone. */
  readonly isNarrow?: boolean;
  cell(row: Row): ComponentChildren;
}

/**
 * Rows of one kind. On narrow screens it scrolls by itself, so that the page does not, or (`narrow="cards"`) each row
 * becomes a card, which the page's own style lays out by `data-column`.
 */
export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
  narrow = 'scroll',
}: {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  keyOf(row: Row): string;
  readonly narrow?: 'scroll' | 'cards';
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <section class="table-scroll" aria-label={label} tabIndex={0}>
      <table class={`table ${narrow}`}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} class={classOf(column)} scope="col">
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.name} class={classOf(column)} data-column={column.name}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function classOf<Row>({ isNumber = false, isExtra = false, isNarrow = false }: Column<Row>): string {
  return `${isNumber ? 'number' : ''} ${isExtra ? 'extra' : ''} ${isNarrow ? 'narrow' : ''}`.trim();
}
