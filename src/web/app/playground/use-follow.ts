import { useEffect, useRef } from 'preact/hooks';

/** Pixels from the end of the page at which somebody still reads its end. */
const NEAR_PX = 120;

/** Keeps the end of the page in sight while it grows, unless somebody has scrolled away from it. */
export function useFollow(...changes: readonly unknown[]): void {
  const isFollowing = useRef(true);
  useEffect(() => {
    const note = () => {
      isFollowing.current = innerHeight + scrollY >= document.documentElement.scrollHeight - NEAR_PX;
    };
    addEventListener('scroll', note, { passive: true });
    return () => removeEventListener('scroll', note);
  }, []);
  useEffect(() => {
    if (!isFollowing.current) return;
    const frame = requestAnimationFrame(() => scrollTo(0, document.documentElement.scrollHeight));
    return () => cancelAnimationFrame(frame);
  }, changes);
}
