import { useEffect, useState } from 'preact/hooks';
import { onSignedOut } from './api.ts';
import { Brand } from './components/icons.tsx';
import { Loaded } from './components/states.tsx';
import { ThemeSwitch } from './components/theme-switch.tsx';
import { EnvironmentPage } from './environments/environment-page.tsx';
import { EnvironmentsPage } from './environments/environments-page.tsx';
import { isRunService, pageSettings, talkAddress } from './page-settings.ts';
import { type EvaluationPlace, followLinks, type Place, usePlace } from './router.ts';
import { RunsPage } from './runs/runs-page.tsx';
import { TracePage } from './trace/trace-page.tsx';
import { UsagePage } from './usage/usage-page.tsx';
import { useResource } from './use-resource.ts';

/** The application: the header that all pages share, and the page of the address. */
export function App() {
  const place = usePlace();
  useEffect(() => {
    document.addEventListener('click', followLinks);
    return () => document.removeEventListener('click', followLinks);
  }, []);
  return (
    <>
      <a class="skip-link" href="#main">
        Skip to the content
      </a>
      <Header place={place} />
      <SignedOutNotice />
      <main id="main" tabIndex={-1}>
        <Page place={place} />
      </main>
    </>
  );
}

function Page({ place }: { readonly place: Place | undefined }) {
  switch (place?.page) {
    case 'playground':
      return <Playground />;
    case 'runs':
      return <RunsPage query={place.query} />;
    case 'trace':
      return <TracePage key={place.traceId} traceId={place.traceId} />;
    case 'compare':
      return <Comparison traceIds={place.traceIds} />;
    case 'environments':
      return <EnvironmentsPage />;
    case 'environment':
      return <EnvironmentPage key={place.name} name={place.name} />;
    case 'evaluations':
    case 'evaluation':
    case 'compare-evaluations':
      return <Evaluations place={place} />;
    case 'usage':
      return <UsagePage query={place.query} />;
    default:
      return <NotHere />;
  }
}

function Playground() {
  const { resource } = useResource(() => import('./playground/playground-page.tsx'), []);
  return (
    <Loaded resource={resource} retry={() => location.reload()}>
      {({ PlaygroundPage }) => <PlaygroundPage />}
    </Loaded>
  );
}

/** Its script is loaded when it is needed. One that is not there any more is that of an older server. */
function Comparison({ traceIds }: { readonly traceIds: readonly string[] }) {
  const { resource } = useResource(() => import('./compare/compare-page.tsx'), []);
  return (
    <Loaded resource={resource} retry={() => location.reload()}>
      {({ ComparePage }) => <ComparePage traceIds={traceIds} />}
    </Loaded>
  );
}

/** The pages of evaluations, loaded as the comparison is. */
function Evaluations({ place }: { readonly place: EvaluationPlace }) {
  const { resource } = useResource(() => import('./evaluations/evaluation-pages.tsx'), []);
  return (
    <Loaded resource={resource} retry={() => location.reload()}>
      {({ EvaluationPages }) => <EvaluationPages place={place} />}
    </Loaded>
  );
}

function NotHere() {
  return (
    <section class="state">
      <h1>There is no such page</h1>
      <p>
        <a href={pageSettings.runsPath}>Back to the runs</a>
      </p>
    </section>
  );
}

interface Destination {
  readonly path: string;
  readonly title: string;
  readonly pages: readonly Place['page'][];
}

const RUN_SERVICE_PAGES: readonly Destination[] = [
  { path: '/', title: 'Runs', pages: ['runs', 'trace', 'compare'] },
  { path: '/evaluations', title: 'Evaluations', pages: ['evaluations', 'evaluation', 'compare-evaluations'] },
  { path: '/environments', title: 'Environments', pages: ['environments', 'environment'] },
  { path: '/usage', title: 'Usage', pages: ['usage'] },
];
/** Address of the playground of the scenario server beside it, if there is one. */
const PLAYGROUND: readonly Destination[] = [talkAddress()].flatMap((path) =>
  path === undefined ? [] : [{ path, title: 'Playground', pages: [] }],
);
const SCENARIO_SERVER_PAGES: readonly Destination[] = [
  { path: '/', title: 'Playground', pages: ['playground'] },
  ...(pageSettings.runService === undefined
    ? [{ path: '/traces', title: 'Traces', pages: ['runs', 'trace', 'compare'] } as const]
    : [
        { path: `${pageSettings.runService}/`, title: 'Runs', pages: [] },
        { path: `${pageSettings.runService}/environments`, title: 'Environments', pages: [] },
      ]),
];

function Header({ place }: { readonly place: Place | undefined }) {
  const pages = isRunService ? [...RUN_SERVICE_PAGES, ...PLAYGROUND] : SCENARIO_SERVER_PAGES;
  return (
    <header class="app-header">
      <a class="brand" href="/">
        <Brand /> Proctor
      </a>
      <nav aria-label="Pages">
        {pages.map(({ path, title, pages: covered }) => (
          <a
            key={path}
            href={path}
            aria-current={place !== undefined && covered.includes(place.page) ? 'page' : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      <span class="app-header-end">
        {pageSettings.account === 'local' ? null : <span class="quiet">{pageSettings.account}</span>}
        <ThemeSwitch />
      </span>
    </header>
  );
}

function SignedOutNotice() {
  const [isSignedOut, setSignedOut] = useState(false);
  useEffect(() => onSignedOut(() => setSignedOut(true)), []);
  if (!isSignedOut) return null;
  return (
    <div class="notice bad" role="alert">
      This browser is not signed in any more.{' '}
      <button type="button" class="link" onClick={() => location.reload()}>
        Load the page again
      </button>{' '}
      to sign in.
    </div>
  );
}
