import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** How far from what is seen something is drawn already, in pixels. */
const MARGIN_PX = 900;
/** Sections that change in one frame, so that none takes long. */
const SECTIONS_PER_FRAME = 2;

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

const watched = new Map<Element, OnChange>();
/** The newest of each section's changes, which wait for their frame. */
const waiting = new Map<Element, IntersectionObserverEntry>();
let observer: IntersectionObserver | undefined;

function watch(section: Element, onChange: OnChange): () => void {
  observer ??= new IntersectionObserver(
    (entries) => {
      if (waiting.size === 0) requestAnimationFrame(work);
      for (const entry of entries) waiting.set(entry.target, entry);
    },
    { rootMargin: `${MARGIN_PX}px 0px` },
  );
  watched.set(section, onChange);
  observer.observe(section);
  return () => {
    observer?.unobserve(section);
    watched.delete(section);
    waiting.delete(section);
  };
}

/** What is seen comes first, and what is far away goes last. */
function work(): void {
  const next = [...waiting.values()].sort((a, b) => urgency(a) - urgency(b)).slice(0, SECTIONS_PER_FRAME);
  for (const entry of next) {
    waiting.delete(entry.target);
    watched.get(entry.target)?.(entry.isIntersecting, entry.boundingClientRect.height);
  }
  if (waiting.size > 0) requestAnimationFrame(work);
}

function urgency({ isIntersecting, boundingClientRect: { top, bottom } }: IntersectionObserverEntry): number {
  if (!isIntersecting) return Number.MAX_SAFE_INTEGER;
  return Math.max(0, top - innerHeight, -bottom);
}
