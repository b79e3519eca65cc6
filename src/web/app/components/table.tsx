import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  readonly name: string;
  readonly title: ComponentChildren;
  readonly isNumber?: boolean;
  /** True hides the column on narrow screens. */
  readonly isExtra?: boolean;
  /** True shows the column only on narrow screens. */
  readonly isNarrow?: boolean;
  cell(row: Row): ComponentChildren;
}

/** A column of figures that narrow screens leave out. Its name is its title in small letters. */
export function figureColumn<Row>(title: string, cell: Column<Row>['cell']): Column<Row> {
  return { name: title.toLowerCase(), title, isNumber: true, isExtra: true, cell };
}

/**
 * A table of rows. On narrow screens it scrolls horizontally, or with `narrow="cards"` each row becomes a card, which
 * the style of the page lays out by `data-column`.
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
