import { useEffect } from 'preact/hooks';
import { revealHidden } from '../format.ts';

/** Of the document, while the page is shown. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${revealHidden(title)} · Proctor`;
  }, [title]);
}
