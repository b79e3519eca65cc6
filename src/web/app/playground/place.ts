/** The session in the page's address: a page that is loaded anew shows it again. */
export function rememberedSession(): string | undefined {
  return new URLSearchParams(location.search).get('session') ?? undefined;
}

/** The scenario that a link of another page asks for. */
export function askedScenario(): string | null {
  return new URLSearchParams(location.search).get('scenario');
}

/** A first turn that runs is remembered too: a page that is left then closes its session, and should say so. */
export function remember(id: string | undefined, isFirstTurn = false): void {
  const path = id === undefined ? location.pathname : `?${new URLSearchParams({ session: id })}`;
  history.replaceState(isFirstTurn ? { isFirstTurn } : null, '', path);
}

/** True where this page was left while its first turn ran. */
export function hasLeftFirstTurn(): boolean {
  return history.state?.isFirstTurn === true;
}
