import { useEffect, useState } from 'preact/hooks';
import type { Seat, SeatModelAddresses } from '../../../contract/service/seat.ts';
import { formatTime } from '../../format.ts';
import { service } from '../api.ts';
import { CopyButton } from '../components/copy-button.tsx';

/**
 * The address and the configurations of a seat that waits for its agent, without its secret: that was told once, to
 * whoever opened it. Nothing of it is shown where another service holds the seat, or it is closed by now.
 */
export function SeatPanel({ traceId }: { readonly traceId: string }) {
  const [seat, setSeat] = useState<Seat | undefined>(undefined);
  useEffect(() => {
    const gone = new AbortController();
    service.seats.get(traceId, { signal: gone.signal }).then(setSeat, () => {}); // The trace says what became of it.
    return () => gone.abort();
  }, [traceId]);
  if (seat === undefined) return null;
  return (
    <details class="more details-panel page">
      <summary>{`The seat for an agent, open until ${formatTime(seat.expires_at)}`}</summary>
      <p>
        MCP at <code>{seat.mcp.url}</code>. The secret was told once, to whoever opened the seat: put it in place of{' '}
        <code>{'<secret>'}</code>.
      </p>
      {seat.model === null ? null : <ModelAddresses model={seat.model} />}
      {configurationsOf(seat).map(([name, text]) => (
        <section key={name}>
          <h4>
            {name} <CopyButton text={() => text} label={`Copy the configuration of ${name}`} />
          </h4>
          <pre class="text">{text}</pre>
        </section>
      ))}
    </details>
  );
}

function ModelAddresses({ model }: { readonly model: SeatModelAddresses }) {
  const addresses = [
    ['OpenAI (chat completions, Responses)', model.openai_base_url],
    ['Anthropic (Messages)', model.anthropic_base_url],
    ['Gemini (generateContent)', model.gemini_base_url],
  ] as const;
  return (
    <>
      <p>
        The secret is the API key of the addresses for the agent's model calls too. Every name of a model leads to that
        of the run.
      </p>
      <dl class="facts">
        {addresses.map(([name, url]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <code>{url}</code> <CopyButton text={() => url} label={`Copy the address for ${name}`} />
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function configurationsOf({ configs, env, model }: Seat): readonly (readonly [string, string])[] {
  const shown = (value: object) => JSON.stringify(value, null, 2);
  const variables = Object.entries(env).map(([name, value]) => `export ${name}=${value}`);
  return [
    ...(model === null ? [] : [['Variables of the process', variables.join('\n')] as const]),
    ['Claude Code', shown(configs.claude)],
    ['Codex', configs.codex],
    ['Gemini CLI', shown(configs.gemini)],
    ['opencode', shown(configs.opencode)],
    ['VS Code', shown(configs.vscode)],
  ];
}
