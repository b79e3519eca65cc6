interface OlderLinkProps {
  /** The `next_cursor` of the page; null on the last page. */
  readonly cursor: string | null;
  /** Query that the next page keeps. Default: none. */
  readonly query?: URLSearchParams;
  readonly children: string;
}

/** Link to the next, older page of a list. */
export function OlderLink({ cursor, query, children }: OlderLinkProps) {
  if (cursor === null) return null;
  const next = new URLSearchParams(query);
  next.set('cursor', cursor);
  return (
    <p>
      <a class="button" href={`?${next}`}>
        {children}
      </a>
    </p>
  );
}
