import type { EventOf, TraceEvent } from '../contract/event.ts';
import type { Trace } from '../contract/trace.ts';
import { colors, note, printable, printableLines } from './terminal.ts';

/**
 * Follows one run, a line for what a person wants to see happen: steps, tool calls, results. `label` is in front of each,
 * to tell runs apart that go on at the same time. Beside a result the lines go to standard error.
 */
export function createRunView(
  label: string,
  write: (line: string) => void = note,
): (events: readonly TraceEvent[]) => void {
  return (events) => {
    for (const event of events) {
      const line = describeEvent(event);
      if (line !== undefined) write(`${label}${line}`);
    }
  };
}

/** The line of an event; undefined for those that say nothing new to someone who watches. */
function describeEvent(event: TraceEvent): string | undefined {
  switch (event.type) {
    case 'run.queued':
      return event.attempt === 1
        ? undefined
        : colors.yellow(`attempt ${event.attempt}: the one before was ${event.previous_end}`);
    case 'environment.ready':
      return colors.dim(`environment ${printable(event.name)} is up (${event.duration_ms} ms)`);
    case 'setup.completed':
      return event.prompt.map((message) => `${colors.bold('prompt')} ${printable(textOf(message.content))}`).join('\n');
    case 'model.responded':
      return event.message.content
        ? `${colors.bold(`step ${event.step}`)} ${printable(event.message.content)}`
        : undefined;
    case 'tool.called':
      return `${colors.bold(`step ${event.step}`)} ${describeToolCall(event)}`;
    case 'tool.responded':
      return `       ${describeToolResult(event)}`;
    case 'evaluation.completed':
      return event.evaluation.content === null
        ? undefined
        : `${colors.bold('evaluation')} ${printable(event.evaluation.content)}`;
    case 'log':
      return event.level === 'debug' ? undefined : colors.dim(`log ${event.level}: ${printable(event.message)}`);
    default:
      return undefined;
  }
}

/** `increment {"by":3}` */
export function describeToolCall({ name, arguments: args }: EventOf<'tool.called'>): string {
  return `${colors.cyan(printable(name))} ${printable(JSON.stringify(args), 100)}`;
}

/** `→ 3`, or `error ` with what the tool said. */
export function describeToolResult({ is_error, content }: EventOf<'tool.responded'>): string {
  return `${is_error ? colors.red('error ') : '→ '}${colors.dim(printable(content.map(blockText).join(' '), 120))}`;
}

/** `reward 1`, or what happened instead. */
export function describeOutcome(trace: Pick<Trace, 'status' | 'stop_reason' | 'reward' | 'error'>): string {
  if (trace.status === 'completed') {
    const text = `reward ${trace.reward}`;
    const isPassed = trace.reward !== null && trace.reward >= 1;
    const reason = trace.stop_reason === 'answered' ? '' : colors.yellow(` (stopped by ${trace.stop_reason})`);
    return (isPassed ? colors.green(text) : colors.yellow(text)) + reason;
  }
  if (trace.error === null) return colors.yellow(trace.status);
  // Whole: the way out is at its end, where the environment says it.
  return colors.red(`${trace.status} at ${trace.error.boundary}: ${printableLines(trace.error.message)}`);
}

function textOf(content: string | readonly { readonly type: string }[]): string {
  return typeof content === 'string' ? content : content.map(blockText).join(' ');
}

function blockText(block: { readonly type: string; readonly [key: string]: unknown }): string {
  return block.type === 'text' && typeof block.text === 'string' ? block.text : `[${block.type}]`;
}
