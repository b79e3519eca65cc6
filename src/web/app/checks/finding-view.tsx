import type { CheckFinding } from '../../../contract/service/check.ts';
import { FINDING_HELP } from '../../../contract/service/check-help.ts';
import { revealHidden } from '../../format.ts';
import { CopyButton } from '../components/copy-button.tsx';
import { LongText } from '../components/long-text.tsx';

interface FindingViewProps {
  readonly finding: CheckFinding;
  /** True also shows the usual cause and remedy. */
  readonly hasHelp: boolean;
}

/** One finding: its place, its message, a command that shows it again, and its trace. */
export function FindingView({ finding: found, hasHelp }: FindingViewProps) {
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
      {hasHelp ? <Help finding={finding} /> : null}
      <div class="finding-command">
        <div>
          <LongText text={`$ ${reproduce}`} kind="mono" />
        </div>
        {/* A hidden character in a name could control the terminal, so such a command cannot be copied. */}
        {revealHidden(reproduce) === reproduce ? <CopyButton text={() => reproduce} label="Copy the command" /> : null}
      </div>
    </li>
  );
}

function Help({ finding }: Pick<CheckFinding, 'finding'>) {
  // A newer version may have stored an unknown kind of finding.
  if (!Object.hasOwn(FINDING_HELP, finding)) return null;
  const { cause, remedy } = FINDING_HELP[finding];
  return (
    <div class="quiet">
      <p>{`Usual cause: ${cause}`}</p>
      <p>
        {`Usual remedy: ${remedy} `}
        <a href={`#help-${finding}`}>What it tries</a>
      </p>
    </div>
  );
}
