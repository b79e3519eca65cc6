import { useContext, useState } from 'preact/hooks';
import type { LogRecord } from '../../../../contract/service/trace.ts';
import { grouped } from '../../../../support/text/figures.ts';
import { Marked, SearchText } from '../../components/marked.tsx';
import { TraceContext } from '../view-context.ts';

const LINES_AT_ONCE = 12;

/** Log lines at their place in the transcript. Times are UTC. */
export function LogLines({
  logs,
  isAlways = false,
}: {
  readonly logs: readonly LogRecord[];
  readonly isAlways?: boolean;
}) {
  const { hidden } = useContext(TraceContext);
  const searched = useContext(SearchText);
  const [isOpen, setOpen] = useState(false);
  if (logs.length === 0 || (hidden.has('logs') && !isAlways)) return null;
  const isFound = searched !== '' && logs.some(({ message }) => message.toLowerCase().includes(searched));
  const shown = isOpen || isFound ? logs : logs.slice(-LINES_AT_ONCE);
  return (
    <div class="logs">
      {shown.length < logs.length ? (
        <button type="button" class="link" onClick={() => setOpen(true)}>
          {`${grouped(logs.length - shown.length)} log lines before`}
        </button>
      ) : null}
      {shown.map((log, index) => (
        <div key={index} class={`log ${log.level}`}>
          <span class="log-time">{log.at.slice(11, 23)}</span>
          <span class="log-level">{log.level}</span>
          <span class="log-text">
            {log.logger === 'environment' ? null : <span class="quiet">{`${log.logger} `}</span>}
            <Marked text={log.message} />
          </span>
        </div>
      ))}
    </div>
  );
}
