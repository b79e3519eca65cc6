import { useState } from 'preact/hooks';
import type { EnvironmentTool, ToolHints } from '../../../contract/service/run.ts';
import { preview } from '../../format.ts';
import { service } from '../api.ts';
import { LongText } from '../components/long-text.tsx';
import { Loaded } from '../components/states.tsx';
import { useResource } from '../use-resource.ts';
import { SchemaTable } from './schema-table.tsx';

/** So many are open at first: more would hide what comes below them. */
const OPEN_AT_MOST = 2;
/** With more tools than these, folded parts are drawn when opened: thousands of tools would make a million elements. */
const DRAWN_AT_MOST = 100;

/** The tools that an environment lists to an agent. */
export function ToolList({ envName }: { readonly envName: string }) {
  const { resource, reload } = useResource((signal) => service.environments.tools(envName, { signal }), [envName]);
  return (
    <section aria-labelledby="tools">
      <h2 id="tools" class="section-title">
        Tools{' '}
        {resource.state === 'ready' ? <span class="quiet section-count">{resource.value.tools.length}</span> : null}
      </h2>
      <p class="quiet small section-about">What an agent is offered; a scenario may offer fewer of them.</p>
      <Loaded resource={resource} retry={reload}>
        {({ tools }) =>
          tools.length === 0 ? (
            <p class="quiet">None: an agent can only answer.</p>
          ) : (
            <div class="tool-list">
              {tools.map((tool) => (
                <Tool
                  key={tool.name}
                  tool={tool}
                  isOpenAtFirst={tools.length <= OPEN_AT_MOST}
                  isDrawnAtFirst={tools.length <= DRAWN_AT_MOST}
                />
              ))}
            </div>
          )
        }
      </Loaded>
    </section>
  );
}

interface ToolProps {
  readonly tool: EnvironmentTool;
  readonly isOpenAtFirst: boolean;
  readonly isDrawnAtFirst: boolean;
}

function Tool({ tool, isOpenAtFirst, isDrawnAtFirst }: ToolProps) {
  const [isDrawn, setDrawn] = useState(isDrawnAtFirst);
  const { name, title, annotations, description } = tool;
  return (
    <details class="tool-entry" open={isOpenAtFirst} onToggle={() => setDrawn(true)}>
      <summary>
        <code class="tool-name">{name}</code>
        {title === null || title === name ? null : <span class="tool-title">{title}</span>}
        <span class="quiet tool-about">{preview(description, 160)}</span>
        <Hints annotations={annotations} />
      </summary>
      {isDrawn ? <ToolBody tool={tool} /> : null}
    </details>
  );
}

function ToolBody({ tool }: Pick<ToolProps, 'tool'>) {
  const { name, description, input_schema, output_schema } = tool;
  return (
    <div class="tool-body">
      {description === '' ? <p class="quiet">It has no description.</p> : <LongText text={description} />}
      <SchemaTable label={`Arguments of ${name}`} schema={input_schema} none="It takes no arguments." />
      {output_schema === null ? null : (
        <>
          <h3>What it gives</h3>
          <SchemaTable label={`Result of ${name}`} schema={output_schema} none="Nothing is said of its fields." />
        </>
      )}
    </div>
  );
}

/** In words; what is the default of MCP is not said. */
function Hints({ annotations }: { readonly annotations: ToolHints }) {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
  const hints = [
    ...(readOnlyHint === true ? ['reads only'] : []),
    ...(destructiveHint === true ? ['may destroy'] : []),
    ...(destructiveHint === false && readOnlyHint !== true ? ['only adds'] : []),
    ...(idempotentHint === true ? ['may be repeated'] : []),
    ...(openWorldHint === true ? ['reaches outside'] : []),
    ...(openWorldHint === false ? ['closed world'] : []),
  ];
  if (hints.length === 0) return null;
  return (
    <span class="tool-hints">
      {hints.map((hint) => (
        <span key={hint} class="badge">
          {hint}
        </span>
      ))}
    </span>
  );
}
