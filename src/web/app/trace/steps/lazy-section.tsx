import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** How far from what is seen something is drawn already, in pixels. */
const MARGIN_PX = 900;
/** Sections that change in one frame, so that none takes long. */
const DRAWN_PER_FRAME = 2;
const REMOVED_PER_FRAME = 4;

/**
 * A part of a long page that is drawn while it is near to what is seen. What is far away is as high as it was, or as it
 * is likely to be (`estimatePx`), and has its anchor all the same.
 */
export function LazySection({
  id,
  estimatePx,
  isAlways = false,
  children,
}: {
  readonly id: string;
  readonly estimatePx: number;
  /** Drawn wherever it is: short pages need no more. */
  readonly isAlways?: boolean;
  readonly children: () => ComponentChildren;
}) {
  const ref = useRef<HTMLElement>(null);
  const heightPx = useRef(estimatePx);
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const section = ref.current;
    if (section === null || isAlways) return;
    return watch(section, (isIntersecting, height) => {
      if (!isIntersecting) heightPx.current = height;
      setNear(isIntersecting);
    });
  }, [isAlways]);
  const isDrawn = isAlways || isNear;
  return (
    <section ref={ref} id={id} class="entry" style={isDrawn ? {} : { height: `${heightPx.current}px` }}>
      {isDrawn ? children() : null}
    </section>
  );
}

type OnChange = (isNear: boolean, heightPx: number) => void;

interface LazySection {
  readonly onChange: OnChange;
  isNear: boolean;
}

interface Change {
  readonly isNear: boolean;
  readonly heightPx: number;
  /** From what is seen, in pixels. */
  readonly distancePx: number;
}

const watched = new Map<Element, LazySection>();
/** The newest change of each section that is to be drawn, or not any more: they wait for their frame. */
const waiting = new Map<Element, Change>();
let observer: IntersectionObserver | undefined;

function watch(section: Element, onChange: OnChange): () => void {
  observer ??= new IntersectionObserver(note, { rootMargin: `${MARGIN_PX}px 0px` });
  watched.set(section, { onChange, isNear: false });
  observer.observe(section);
  return () => {
    observer?.unobserve(section);
    watched.delete(section);
    waiting.delete(section);
  };
}

function note(entries: readonly IntersectionObserverEntry[]): void {
  const isIdle = waiting.size === 0;
  for (const { target, isIntersecting, boundingClientRect: box } of entries) {
    if (watched.get(target)?.isNear === isIntersecting) waiting.delete(target);
    else {
      const distancePx = Math.max(0, box.top - innerHeight, -box.bottom);
      waiting.set(target, { isNear: isIntersecting, heightPx: box.height, distancePx });
    }
  }
  if (isIdle && waiting.size > 0) requestAnimationFrame(work);
}

/** Draws visible sections first. Far sections are removed in the same frames, so that the page does not grow. */
function work(): void {
  const changes = [...waiting];
  const near = changes.filter(([, { isNear }]) => isNear).sort(([, a], [, b]) => a.distancePx - b.distancePx);
  const far = changes.filter(([, { isNear }]) => !isNear);
  for (const [section, change] of [...near.slice(0, DRAWN_PER_FRAME), ...far.slice(0, REMOVED_PER_FRAME)]) {
    waiting.delete(section);
    const known = watched.get(section);
    if (known === undefined) continue;
    known.isNear = change.isNear;
    known.onChange(change.isNear, change.heightPx);
  }
  if (waiting.size > 0) requestAnimationFrame(work);
}
