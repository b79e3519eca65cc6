import { useEffect } from 'preact/hooks';
import { revealHidden } from '../format.ts';

/** Sets the title of the document while the page is shown. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${revealHidden(title)} · Proctor`;
  }, [title]);
}
