import type { ComponentChildren } from 'preact';
import { ApiError } from '../../../contract/errors.ts';
import type { Resource } from '../use-resource.ts';

export function Loading({ what = 'Loading' }: { readonly what?: string }) {
  return (
    <p class="state quiet" role="status">
      <span class="spinner" /> {what}…
    </p>
  );
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <section class="state">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** The server's error message, and a button to try again. */
export function Failure({ error, retry }: { readonly error: unknown; retry?(): void }) {
  const message = error instanceof Error ? error.message : String(error);
  return (
    <section class="state" role="alert">
      <h2>{error instanceof ApiError && error.status === 0 ? 'The server does not answer' : 'This did not work'}</h2>
      <p class="bad-text">{message}</p>
      {error instanceof ApiError && error.requestId !== null ? (
        <p class="quiet">
          Request <code>{error.requestId}</code>
        </p>
      ) : null}
      {retry === undefined ? null : (
        <button type="button" class="button" onClick={retry}>
          Try again
        </button>
      )}
    </section>
  );
}

/** Shows a resource as loading, failed or loaded. */
export function Loaded<T>({
  resource,
  retry,
  children,
}: {
  readonly resource: Resource<T>;
  retry(): void;
  readonly children: (value: T) => ComponentChildren;
}) {
  if (resource.state === 'loading') return <Loading />;
  if (resource.state === 'failed') return <Failure error={resource.error} retry={retry} />;
  return <>{children(resource.value)}</>;
}
