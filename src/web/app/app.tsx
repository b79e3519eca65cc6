import { useEffect, useRef, useState } from 'preact/hooks';
import { LOCAL_ACCOUNT } from '../../contract/names.ts';
import { onSignedOut } from './api.ts';
import { Brand } from './components/icons.tsx';
import { Later } from './components/later.tsx';
import { ThemeSwitch } from './components/theme-switch.tsx';
import { isRunService, pageSettings, talkAddress } from './page-settings.ts';
import { followLinks, type Place, usePlace } from './router.ts';
import { RunsPage } from './runs/runs-page.tsx';
import { TracePage } from './trace/trace-page.tsx';

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
      return (
        <Later key={place.page} load={() => import('./playground/playground-page.tsx')}>
          {({ PlaygroundPage }) => <PlaygroundPage />}
        </Later>
      );
    case 'runs':
      return <RunsPage query={place.query} />;
    case 'trace':
      return <TracePage key={place.traceId} traceId={place.traceId} />;
    case 'compare':
      return (
        <Later key={place.page} load={() => import('./compare/compare-page.tsx')}>
          {({ ComparePage }) => <ComparePage traceIds={place.traceIds} />}
        </Later>
      );
    case 'environments':
      return (
        <Later key={place.page} load={() => import('./environments/environments-page.tsx')}>
          {({ EnvironmentsPage }) => <EnvironmentsPage />}
        </Later>
      );
    case 'environment':
      return (
        <Later key={place.page} load={() => import('./environments/environment-page.tsx')}>
          {({ EnvironmentPage }) => <EnvironmentPage key={place.name} name={place.name} />}
        </Later>
      );
    case 'evaluations':
      return (
        <Later key={place.page} load={() => import('./evaluations/evaluations-page.tsx')}>
          {({ EvaluationsPage }) => <EvaluationsPage query={place.query} />}
        </Later>
      );
    case 'evaluation':
      return (
        <Later key={place.page} load={() => import('./evaluations/evaluation-page.tsx')}>
          {({ EvaluationPage }) => <EvaluationPage key={place.evaluationId} {...place} />}
        </Later>
      );
    case 'compare-evaluations':
      return (
        <Later key={place.page} load={() => import('./evaluations/compare-evaluations-page.tsx')}>
          {({ CompareEvaluationsPage }) => <CompareEvaluationsPage query={place.query} />}
        </Later>
      );
    case 'training':
      return (
        <Later key={place.page} load={() => import('./training/training-page.tsx')}>
          {({ TrainingPage }) => <TrainingPage query={place.query} />}
        </Later>
      );
    case 'training-job':
      return (
        <Later key={place.page} load={() => import('./training/job-page.tsx')}>
          {({ JobPage }) => <JobPage key={place.jobId} jobId={place.jobId} />}
        </Later>
      );
    case 'regrade':
      return (
        <Later key={place.page} load={() => import('./evaluations/regrade-page.tsx')}>
          {({ RegradePage }) => <RegradePage key={place.jobId} {...place} />}
        </Later>
      );
    case 'models':
      return (
        <Later key={place.page} load={() => import('./models/models-page.tsx')}>
          {({ ModelsPage }) => <ModelsPage />}
        </Later>
      );
    case 'model':
      return (
        <Later key={place.page} load={() => import('./models/model-page.tsx')}>
          {({ ModelPage }) => <ModelPage key={place.name} name={place.name} />}
        </Later>
      );
    case 'checks':
      return (
        <Later key={place.page} load={() => import('./checks/checks-page.tsx')}>
          {({ ChecksPage }) => <ChecksPage query={place.query} />}
        </Later>
      );
    case 'check':
      return (
        <Later key={place.page} load={() => import('./checks/check-page.tsx')}>
          {({ CheckPage }) => <CheckPage key={place.checkId} checkId={place.checkId} />}
        </Later>
      );
    case 'usage':
      return (
        <Later key={place.page} load={() => import('./usage/usage-page.tsx')}>
          {({ UsagePage }) => <UsagePage query={place.query} />}
        </Later>
      );
    default:
      return <NotHere />;
  }
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
  {
    path: '/evaluations',
    title: 'Evaluations',
    pages: ['evaluations', 'evaluation', 'compare-evaluations', 'regrade'],
  },
  { path: '/environments', title: 'Environments', pages: ['environments', 'environment'] },
  { path: '/checks', title: 'Checks', pages: ['checks', 'check'] },
  { path: '/training', title: 'Training', pages: ['training', 'training-job'] },
  { path: '/models', title: 'Models', pages: ['models', 'model'] },
  { path: '/usage', title: 'Usage', pages: ['usage'] },
];
/** Address of the playground, if a scenario server runs beside this service. */
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
  const nav = useRef<HTMLElement>(null);
  // On a phone the navigation scrolls; this shows the link of the current page.
  useEffect(() => {
    const current = nav.current?.querySelector<HTMLElement>('[aria-current]');
    if (nav.current && current)
      nav.current.scrollLeft = current.offsetLeft - nav.current.offsetLeft - current.offsetWidth;
  }, [place?.page]);
  return (
    <header class="app-header">
      <a class="brand" href="/">
        <Brand /> Proctor
      </a>
      <nav ref={nav} aria-label="Pages">
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
        {pageSettings.account === LOCAL_ACCOUNT ? null : <span class="quiet">{pageSettings.account}</span>}
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
