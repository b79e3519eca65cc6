import { useEffect } from 'preact/hooks';
import { Dialog } from '../../components/dialog.tsx';
import { Icon } from '../../components/icons.tsx';
import { goTo } from '../go-to.ts';
import { MarkedImage } from './picture-view.tsx';
import type { Picture } from './pictures.ts';

/** All images of the run in a row. */
export function PictureStrip({
  pictures,
  onOpen,
}: {
  readonly pictures: readonly Picture[];
  onOpen(index: number): void;
}) {
  if (pictures.length === 0) return null;
  return (
    <section class="picture-strip" aria-label="Images">
      <ol>
        {pictures.map((picture, index) => (
          <li key={index}>
            <button
              type="button"
              class="picture"
              onClick={() => onOpen(index)}
              aria-label={`Enlarge: ${picture.label}`}
            >
              <MarkedImage source={picture.source} marks={picture.marks} label={picture.label} />
            </button>
            <span class="quiet">{picture.label}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** One image large, with those before and after it. */
export function Lightbox({
  pictures,
  index,
  onChange,
}: {
  readonly pictures: readonly Picture[];
  readonly index: number;
  /** Undefined closes it. */
  onChange(index: number | undefined): void;
}) {
  const picture = pictures[index];
  const to = (next: number) => onChange(Math.min(pictures.length - 1, Math.max(0, next)));
  useEffect(() => {
    const onKey = ({ key }: KeyboardEvent) => {
      if (key === 'ArrowLeft') to(index - 1);
      if (key === 'ArrowRight') to(index + 1);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
  if (picture === undefined) return null;
  return (
    <Dialog
      title={`${picture.label} (${index + 1} of ${pictures.length})`}
      kind="lightbox"
      onClose={() => onChange(undefined)}
    >
      <MarkedImage key={picture.source} source={picture.source} marks={picture.marks} label={picture.label} />
      <footer class="lightbox-foot">
        <button type="button" class="button" disabled={index === 0} onClick={() => to(index - 1)}>
          <Icon name="left" /> Before
        </button>
        <button
          type="button"
          class="link"
          onClick={() => {
            onChange(undefined);
            goTo(picture.entryId);
          }}
        >
          Go to its step
        </button>
        <button type="button" class="button" disabled={index === pictures.length - 1} onClick={() => to(index + 1)}>
          After <Icon name="right" />
        </button>
      </footer>
      {picture.marks.length === 0 ? null : <p class="quiet">{picture.marks.map(({ label }) => label).join(' · ')}</p>}
    </Dialog>
  );
}
