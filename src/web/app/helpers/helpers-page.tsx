import { useEffect, useState } from 'preact/hooks';
import { SCENARIOS_URI } from '../../../contract/names.ts';
import type { ScenarioEntry as Scenario } from '../../../contract/scenario.ts';
import { Brand } from '../components/icons.tsx';
import { LongText } from '../components/long-text.tsx';
import { Failure, Loaded, Loading } from '../components/states.tsx';
import { ThemeSwitch } from '../components/theme-switch.tsx';
import { useResource } from '../use-resource.ts';
import { Section } from './entry.tsx';
import { KeyForm } from './key-form.tsx';
import type { McpSession } from './mcp-session.ts';
import { PromptEntry } from './prompt-entry.tsx';
import { ResourceEntry, TemplateEntry } from './resource-entries.tsx';
import { ScenarioEntry } from './scenario-entry.tsx';
import { ToolEntry } from './tool-entry.tsx';
import { useSession } from './use-session.ts';

/** Shows everything that an agent sees of an environment, to be used by hand; with the harness key its scenarios can be played. */
export function HelpersPage({ endpoint }: { readonly endpoint: URL }) {
  const { resource, session, reload } = useSession(endpoint);
  return (
    <>
      <a class="skip-link" href="#main">
        Skip to the content
      </a>
      <header class="app-header">
        <span class="brand">
          <Brand /> Proctor
        </span>
        <nav aria-label="Parts">
          <a href="#tools">Tools</a>
          <a href="#resources">Resources</a>
          <a href="#prompts">Prompts</a>
          <a href="#scenarios">Scenarios</a>
        </nav>
        <span class="app-header-end">
          <ThemeSwitch />
        </span>
      </header>
      <main id="main" class="page helpers" tabIndex={-1}>
        {resource.state === 'failed' ? <Failure error={resource.error} retry={reload} /> : null}
        {resource.state !== 'failed' && session === undefined ? <Loading what="Opening a session" /> : null}
        {session === undefined ? null : (
          <Environment key={session.id} endpoint={endpoint} session={session} renew={reload} />
        )}
      </main>
    </>
  );
}

function Environment({
  endpoint,
  session,
  renew,
}: {
  readonly endpoint: URL;
  readonly session: McpSession;
  renew(): void;
}) {
  const { name, version } = session.server;
  const [changes, setChanges] = useState(0);
  const { resource, reload } = useResource((signal) => readLists(session, signal), [session, changes]);
  useEffect(() => session.onChange(() => setChanges((count) => count + 1)), [session]);
  useEffect(() => {
    document.title = `${name} · development helpers`;
  }, [name]);
  return (
    <>
      <h1>
        {name} <small class="quiet version">{version}</small>
      </h1>
      <p class="quiet">
        What an agent sees of this environment. It is used here over <code>{endpoint.pathname}</code>, as an agent uses
        it, in a session of this page.{' '}
        <button type="button" class="link" onClick={renew}>
          Start a new session
        </button>
      </p>
      <p class="quiet small" role="status">
        {changes === 0 ? null : 'The environment has changed, and its lists were read again.'}
      </p>
      {session.instructions === '' ? null : (
        <details class="more">
          <summary>Instructions</summary>
          <LongText text={session.instructions} />
        </details>
      )}
      <Loaded resource={resource} retry={reload}>
        {(lists) => <Lists endpoint={endpoint} session={session} lists={lists} />}
      </Loaded>
    </>
  );
}

type AgentLists = Awaited<ReturnType<typeof readLists>>;

async function readLists(session: McpSession, signal: AbortSignal) {
  const [tools, resources, templates, prompts, scenarios] = await Promise.all([
    session.tools(signal),
    session.resources(signal),
    session.resourceTemplates(signal),
    session.prompts(signal),
    readScenarios(session, signal),
  ]);
  return { tools, resources, templates, prompts, scenarios };
}

async function readScenarios(session: McpSession, signal: AbortSignal): Promise<readonly Scenario[]> {
  const { contents } = await session.readResource(SCENARIOS_URI, { signal });
  const [first] = contents;
  return first !== undefined && 'text' in first ? JSON.parse(first.text).scenarios : [];
}

function Lists({
  endpoint,
  session,
  lists: { tools, resources, templates, prompts, scenarios },
}: {
  readonly endpoint: URL;
  readonly session: McpSession;
  readonly lists: AgentLists;
}) {
  const [harnessKey, setHarnessKey] = useState<string | undefined>(undefined);
  return (
    <>
      <Section id="tools" title="Tools" count={tools.length} about="What an agent may call.">
        <div class="tool-list">
          {tools.map((tool) => (
            <ToolEntry key={tool.name} session={session} tool={tool} />
          ))}
        </div>
      </Section>
      <Section
        id="resources"
        title="Resources"
        count={resources.length + templates.length}
        about="What an agent may read."
      >
        <div class="tool-list">
          {resources.map((each) => (
            <ResourceEntry key={each.uri} session={session} resource={each} />
          ))}
          {templates.map((each) => (
            <TemplateEntry key={each.uriTemplate} session={session} template={each} />
          ))}
        </div>
      </Section>
      <Section
        id="prompts"
        title="Prompts"
        count={prompts.length}
        about="What an IDE offers as commands. The prompt of a scenario sets it up in the session of this page."
      >
        <div class="tool-list">
          {prompts.map((prompt) => (
            <PromptEntry key={prompt.name} session={session} prompt={prompt} />
          ))}
        </div>
      </Section>
      <Section
        id="scenarios"
        title="Scenarios"
        count={scenarios.length}
        about="Play one in the place of an agent: setup, tools, answer, evaluation. Each setup has a session of its own."
      >
        <div id="harness-key" class="card-block">
          <KeyForm endpoint={endpoint} harnessKey={harnessKey} onKey={setHarnessKey} />
        </div>
        <div class="tool-list">
          {scenarios.map((scenario) => (
            <ScenarioEntry
              key={scenario.name}
              endpoint={endpoint}
              harnessKey={harnessKey}
              scenario={scenario}
              onWrongKey={() => setHarnessKey(undefined)}
            />
          ))}
        </div>
      </Section>
    </>
  );
}
