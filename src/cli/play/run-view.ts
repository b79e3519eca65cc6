import { readableText } from '../../contract/content-text.ts';
import { OUTSIDE_STEPS } from '../../contract/names.ts';
import type { EventOf, TraceEvent } from '../../contract/service/event.ts';
import type { Trace } from '../../contract/service/trace.ts';
import { colors, note, printable, printableLines } from '../base/terminal.ts';

export interface RunViewOptions {
  /** Prefix of each line, to tell concurrent runs apart. */
  readonly label?: string;
  /** Output for the lines. Default: standard error. */
  readonly write?: (line: string) => void;
  /** True prints whole texts, stacks and debug messages. Otherwise each text is one line. */
  readonly isFull?: boolean;
}

/** Shows a run: one line for each step, tool call and result. */
export function createRunView(options: RunViewOptions = {}): (events: readonly TraceEvent[]) => void {
  const { label = '', write = note, isFull = false } = options;
  return (events) => {
    for (const event of events) {
      const line = describeEvent(event, isFull);
      if (line !== undefined) write(`${label}${line}`);
    }
  };
}

/** The line of an event; undefined for an event without news for the user. */
export function describeEvent(event: TraceEvent, isFull: boolean): string | undefined {
  const shown = isFull ? printableLines : printable;
  switch (event.type) {
    case 'run.queued':
      return event.attempt === 1 ? undefined : colors.yellow(describeAttempt(event));
    case 'environment.ready':
      return colors.dim(`environment ${printable(event.name)} is up (${event.duration_ms} ms)`);
    case 'sandbox.started':
      return colors.dim(`sandbox ${printable(event.name)} is up (${printable(event.engine)}, ${event.start_ms} ms)`);
    case 'sandbox.refused':
      return colors.yellow(`sandbox ${printable(event.sandbox)} refused ${printable(event.host)}:${event.port}`);
    case 'setup.completed':
      // An empty prompt lets a simulated user speak first.
      if (event.prompt.length === 0) return undefined;
      return event.prompt
        .map((message) => `${colors.bold('prompt')} ${shown(readableText(message.content, ' '))}`)
        .join('\n');
    case 'model.responded':
      return event.message.content ? `${colors.bold(`step ${event.step}`)} ${shown(event.message.content)}` : undefined;
    case 'tool.called':
      return `${colors.bold(event.step === OUTSIDE_STEPS ? 'call' : `step ${event.step}`)} ${describeToolCall(event, isFull)}`;
    case 'tool.responded':
      return `       ${describeToolResult(event, isFull)}`;
    case 'user.responded':
      return `${colors.bold(colors.yellow('user'))} ${event.message === null ? colors.dim('has nothing more to say') : shown(event.message)}`;
    case 'judge.responded':
      return `${colors.bold('judge')} ${event.score} ${colors.dim(shown(event.votes[0]?.reason ?? ''))}`;
    case 'judge.failed':
      return `${colors.bold('judge')} ${colors.red('gave no verdict')} ${colors.dim(shown(event.message))}`;
    case 'evaluation.completed':
      return event.evaluation.content === null
        ? undefined
        : `${colors.bold('evaluation')} ${shown(event.evaluation.content)}`;
    case 'log':
      return describeLog(event, isFull);
    default:
      return undefined;
  }
}

function describeAttempt({ attempt, previous_end, previous_error }: TraceEvent & EventOf<'run.queued'>): string {
  const why = previous_error ? `: ${printable(previous_error.message)}` : '';
  return `attempt ${attempt}: the one before was ${previous_end}${why}`;
}

/** Formats a tool call: `increment {"by":3}`. */
export function describeToolCall(
  { name, arguments: args }: Pick<EventOf<'tool.called'>, 'name' | 'arguments'>,
  isFull = false,
): string {
  const text = JSON.stringify(args);
  return `${colors.cyan(printable(name))} ${isFull ? printableLines(text) : printable(text, 100)}`;
}

/** Formats a tool result: `→ 3`, or `error ` and the text of the tool. */
export function describeToolResult(
  { is_error, content }: Pick<EventOf<'tool.responded'>, 'is_error' | 'content'>,
  isFull = false,
): string {
  const text = readableText(content, isFull ? '\n' : ' ');
  return `${is_error ? colors.red('error ') : '→ '}${colors.dim(isFull ? printableLines(text) : printable(text, 120))}`;
}

/** Formats a log event. Lines of a stack appear in the full view only. */
function describeLog({ level, message }: EventOf<'log'>, isFull: boolean): string | undefined {
  if (isFull) return colors.dim(`log ${level}: ${printableLines(message)}`);
  const [told = ''] = message.split(/^\s+at .*$/m);
  return level === 'debug' || told.trim() === '' ? undefined : colors.dim(`log ${level}: ${printable(told)}`);
}

/** `reward 1`, or the reason why there is no reward. */
export function describeOutcome(trace: Pick<Trace, 'status' | 'stop_reason' | 'reward' | 'error'>): string {
  if (trace.status === 'completed') {
    const text = `reward ${trace.reward}`;
    const isPassed = trace.reward !== null && trace.reward >= 1;
    const reason = trace.stop_reason === 'answered' ? '' : colors.yellow(` (stopped by ${trace.stop_reason})`);
    return (isPassed ? colors.green(text) : colors.yellow(text)) + reason;
  }
  if (trace.error === null) return colors.yellow(trace.status);
  // Not shortened, since the environment puts its advice at the end.
  return colors.red(`${trace.status} at ${trace.error.boundary}: ${printableLines(trace.error.message)}`);
}
