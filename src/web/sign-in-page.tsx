import { renderPage } from './layout.tsx';

export interface SignInProps {
  /** Where to go after the sign-in: a path of this server. */
  readonly next: string;
  readonly problem?: string;
}

export function renderSignInPage({ next, problem }: SignInProps): string {
  return renderPage({
    title: 'Sign in',
    children: (
      <section class="card narrow">
        <h1>Sign in</h1>
        {problem === undefined ? null : (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <p>
          Traces are for signed-in browsers, on this machine too. Run <code>proctor open</code> in a terminal where this
          server was started: it prints an address that signs you in. Or use an API key:
        </p>
        <form method="post" action="/sign-in">
          <input type="hidden" name="next" value={next} />
          <label for="key">API key</label>
          <input id="key" name="key" type="password" autocomplete="current-password" required />
          <button type="submit">Sign in</button>
        </form>
        <p class="quiet">
          <code>proctor keys create --name me</code> makes a key.
        </p>
      </section>
    ),
  });
}
