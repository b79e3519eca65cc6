/** Goes to a page of the application without loading the document anew. `replace` leaves no entry to go back to. */
export function navigate(path: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (replace) history.replaceState(null, '', path);
  else {
    history.pushState(null, '', path);
    scrollTo(0, 0);
  }
  for (const listener of listeners) listener();
}

/** Calls back after each change of the place by `navigate`. Returns the way to stop. */
export function onNavigate(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const listeners = new Set<() => void>();
