import { readableText } from '../../contract/content-text.ts';
import type { EventOf, TraceEvent } from '../../contract/service/event.ts';
import { colors, note, printableLines } from '../base/terminal.ts';
import { describeEvent, describeToolCall, describeToolResult } from './run-view.ts';

/**
 * Shows a conversation between an agent and a simulated user. Each line names its speaker, and tool output is set
 * apart.
 */
export function createConversationView(write: (line: string) => void = note): (events: readonly TraceEvent[]) => void {
  return (events) => {
    for (const event of events) for (const line of describe(event)) write(line);
  };
}

function describe(event: TraceEvent): readonly string[] {
  switch (event.type) {
    case 'setup.completed':
      return [
        ...(event.system === null ? [] : [`${colors.bold('system')} ${colors.dim(printableLines(event.system))}`]),
        ...event.prompt.map(({ content }) => `${colors.bold('prompt')} ${printableLines(readableText(content, '\n'))}`),
      ];
    case 'model.responded':
      return event.message.content ? [`${AGENT} ${printableLines(event.message.content)}`] : [];
    case 'tool.called':
      return [`  ${describeToolCall(event)}`];
    case 'tool.responded':
      return [`  ${describeToolResult(event)}`];
    case 'user.responded':
      return describeReply(event);
    default: {
      const line = describeEvent(event, false);
      return line === undefined ? [] : [line];
    }
  }
}

const AGENT = colors.bold(colors.green('agent'));
const USER = colors.bold(colors.yellow('user'));

function describeReply({ message, is_over, calls }: EventOf<'user.responded'>): readonly string[] {
  const called = calls.map(({ name, arguments: args, text, is_error }) => {
    const shown = describeToolCall({ name, arguments: args });
    return `  ${USER} ${shown} ${describeToolResult({ is_error, content: [{ type: 'text', text }] })}`;
  });
  if (message === null) return [...called, `${USER} ${colors.dim('has nothing more to say')}`];
  const end = is_over ? colors.dim(' (ends the conversation)') : '';
  return [...called, `${USER} ${printableLines(message)}${end}`];
}
