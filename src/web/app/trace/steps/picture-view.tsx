import { useContext, useState } from 'preact/hooks';
import { preview } from '../../../format.ts';
import { TraceContext } from '../view-context.ts';
import { isShownType, type Mark, toSource } from './pictures.ts';

/** An image block of a prompt or a result; a click shows it large. */
export function ImageBlock({ data, mimeType }: { readonly data: unknown; readonly mimeType: unknown }) {
  const { blobAddress, pictures, openPicture, hidden } = useContext(TraceContext);
  if (hidden.has('images')) return <p class="quiet">An image</p>;
  if (!isShownType(mimeType))
    return <p class="quiet">{`An image of type ${preview(mimeType)}, which is not shown here.`}</p>;
  const source = toSource(data, mimeType, blobAddress);
  if (source === undefined) return <p class="quiet">{`An image whose bytes cannot be read: ${preview(data)}`}</p>;
  const picture = pictures.get(source);
  return (
    <button
      type="button"
      class="picture"
      onClick={() => openPicture(source)}
      aria-label={`Enlarge: ${picture?.label ?? 'image'}`}
    >
      <MarkedImage source={source} marks={picture?.marks ?? []} label={picture?.label ?? String(mimeType)} />
    </button>
  );
}

/** An image with the places that were clicked on it. */
export function MarkedImage({
  source,
  marks,
  label,
}: {
  readonly source: string;
  readonly marks: readonly Mark[];
  readonly label: string;
}) {
  const [size, setSize] = useState<{ readonly width: number; readonly height: number } | undefined>(undefined);
  return (
    <span class="marked-image">
      <img
        src={source}
        alt={label}
        loading="lazy"
        decoding="async"
        onLoad={({ currentTarget: image }) => setSize({ width: image.naturalWidth, height: image.naturalHeight })}
      />
      {size === undefined
        ? null
        : marks
            .filter(({ x, y }) => x <= size.width && y <= size.height)
            .map((mark, index) => (
              <span
                key={index}
                class="click-mark"
                title={mark.label}
                style={{ left: `${(mark.x / size.width) * 100}%`, top: `${(mark.y / size.height) * 100}%` }}
              />
            ))}
    </span>
  );
}
