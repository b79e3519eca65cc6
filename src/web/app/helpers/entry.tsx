import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { preview } from '../../format.ts';
import { LongText } from '../components/long-text.tsx';

/** Something that the environment lists: its name at first, the rest when it is opened. */
export function Entry({
  name,
  about,
  description,
  isOpenAtFirst = false,
  children,
}: {
  readonly name: string;
  /** Beside the name: a title, a type. */
  readonly about?: string | undefined;
  readonly description: string;
  readonly isOpenAtFirst?: boolean;
  readonly children: ComponentChildren;
}) {
  const [isDrawn, setDrawn] = useState(isOpenAtFirst);
  return (
    <details class="tool-entry" open={isOpenAtFirst} onToggle={() => setDrawn(true)}>
      <summary>
        <code class="tool-name">{name}</code>
        {about === undefined || about === name ? null : <span class="tool-title quiet">{preview(about, 60)}</span>}
        {description === '' ? null : <span class="quiet tool-about">{preview(description, 160)}</span>}
      </summary>
      {isDrawn ? (
        <div class="tool-body">
          {description === '' ? null : <LongText text={description} />}
          {children}
        </div>
      ) : null}
    </details>
  );
}

/** A list of entries under a heading. */
export function Section({
  id,
  title,
  count,
  about,
  children,
}: {
  readonly id: string;
  readonly title: string;
  readonly count: number;
  readonly about: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section aria-labelledby={id}>
      <h2 id={id} class="section-title">
        {title} <span class="quiet section-count">{count}</span>
      </h2>
      <div class="quiet small section-about">{about}</div>
      {count === 0 ? <p class="quiet">None.</p> : children}
    </section>
  );
}
