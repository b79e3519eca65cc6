import { renderPage } from './layout.tsx';

export interface SignInProps {
  /** Where to go after the sign-in: a path of this server. */
  readonly next: string;
  /** The command that prints a sign-in address where the server was started. */
  readonly command: string;
  /** True where a first start has kept a key in a file. */
  readonly hasKeptKey: boolean;
  readonly problem?: string | undefined;
  /** A path of this server that the browser tries at once. */
  readonly reload?: string;
}

export function renderSignInPage({ next, command, hasKeptKey, problem, reload }: SignInProps): string {
  return renderPage({
    title: 'Sign in',
    ...(reload === undefined ? {} : { refresh: { seconds: 0, path: reload } }),
    children: (
      <section class="card narrow">
        <h1>Sign in</h1>
        {problem === undefined ? null : (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <p>These pages are shown to signed-in browsers alone. Where this server was started, run</p>
        <pre>{command}</pre>
        <p>and open the address that it prints. Or use an API key:</p>
        <form method="post" action="/sign-in">
          <input type="hidden" name="next" value={next} />
          <label for="key">API key</label>
          <input id="key" name="key" type="password" autocomplete="current-password" required />
          <button type="submit">Sign in</button>
        </form>
        <p class="quiet">
          {hasKeptKey ? <KeptKey /> : null}
          <code>npx proctor keys create --name me</code> makes a new one.
        </p>
      </section>
    ),
  });
}

function KeptKey() {
  return (
    <>
      The first start kept one in <code>.proctor/key</code>, or in <code>.proctor/keys</code> where the database is not
      the default one;{' '}
    </>
  );
}
