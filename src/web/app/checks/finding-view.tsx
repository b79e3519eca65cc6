import type { CheckFinding } from '../../../contract/check.ts';
import { revealHidden } from '../../format.ts';
import { CopyButton } from '../components/copy-button.tsx';
import { LongText } from '../components/long-text.tsx';

/** One finding: where it is, what it says, the command that shows it again, and its trace. */
export function FindingView({ finding: found }: { readonly finding: CheckFinding }) {
  const { finding, level, scenario, task, message, reproduce, trace_id } = found;
  return (
    <li class={`check-finding level-${level}`}>
      <p class="finding-head">
        <code class="finding-name">{finding}</code>
        {scenario === null ? null : <span>{scenario}</span>}
        {task === null ? null : <span class="quiet">{`task ${task}`}</span>}
        {trace_id === null ? null : <a href={`/traces/${trace_id}`}>Trace</a>}
      </p>
      <LongText text={message} />
      <div class="finding-command">
        <div>
          <LongText text={`$ ${reproduce}`} kind="mono" />
        </div>
        {/* A terminal may obey a hidden character of a name before anybody has seen it. */}
        {revealHidden(reproduce) === reproduce ? <CopyButton text={() => reproduce} label="Copy the command" /> : null}
      </div>
    </li>
  );
}
