import type { Evaluation, SetupResult } from '../../contract/scenario.ts';
import type { EventBody } from '../../contract/service/event.ts';
import type { ModelDelta } from '../../models/gateway/chat-model.ts';
import type { AnsweredTurn } from '../../service/chat/answered-turn.ts';
import { SecondsLine } from '../base/seconds-line.ts';
import { colors, note, printableLines } from '../base/terminal.ts';
import { describeToolCall, describeToolResult } from './run-view.ts';

export interface ChatViewOptions {
  /** True shows only the messages of the caller. */
  readonly isSilent: boolean;
  /** True counts seconds while tools run, in a line that is overwritten. */
  readonly isTerminal: boolean;
  readonly model: string;
}

/** Shows a conversation on standard error: streamed text of the model, and one line for each tool call. */
export class ChatView {
  readonly #options: ChatViewOptions;
  /** Characters sent of the current response. */
  #sent = 0;
  #isInLine = false;
  /** Number of calls without a result. */
  #running = 0;
  readonly #seconds = new SecondsLine((text) => process.stderr.write(text));

  constructor(options: ChatViewOptions) {
    this.#options = options;
  }

  delta({ content }: ModelDelta): void {
    if (!content) return;
    if (this.#sent === 0) this.#write(`${colors.bold(this.toText(this.#options.model))} `);
    this.#sent += content.length;
    this.#isInLine = true;
    this.#write(this.toText(content));
  }

  event(event: EventBody, setup: SetupResult | undefined): void {
    if (event.type === 'turn.started' && event.turn === 1 && setup !== undefined) this.#prompt(setup);
    else if (event.type === 'model.requested') this.#sent = 0;
    else if (event.type === 'model.responded') this.#endLine();
    else if (event.type === 'tool.called') {
      this.#line(`  ${describeToolCall(event)}`);
      this.#running += 1;
      if (this.#options.isTerminal && !this.#options.isSilent) this.#seconds.start();
    } else if (event.type === 'tool.responded') {
      this.#running -= 1;
      if (this.#running <= 0) this.#seconds.stop();
      this.#line(`  ${describeToolResult(event)}`);
    }
  }

  /** Shows a message that came through a pipe. */
  message(text: string): void {
    this.#line(`${colors.bold('you')} ${this.toText(text)}`);
  }

  /** Ends a turn, successful or not. */
  end(reason: AnsweredTurn['finishReason']): void {
    this.#running = 0;
    this.#seconds.stop();
    this.#endLine();
    if (reason === 'length') this.#line(colors.yellow('Cut off: all steps or tokens of a turn were used.'));
    if (reason === 'content_filter') this.#line(colors.yellow('The gateway held back the rest (content filter).'));
  }

  evaluation({ content }: Evaluation): void {
    if (content !== null) this.#line(`${colors.bold('evaluation')} ${this.toText(content)}`);
  }

  /** Makes foreign text safe for the terminal. */
  toText(text: string): string {
    return printableLines(text);
  }

  #prompt({ system, prompt }: SetupResult): void {
    if (system !== null) this.#line(`${colors.bold('system')} ${colors.dim(this.toText(system))}`);
    for (const { content } of prompt) {
      const parts =
        typeof content === 'string'
          ? [content]
          : content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`));
      this.#line(`${colors.bold('prompt')} ${this.toText(parts.join('\n'))}`);
    }
  }

  #endLine(): void {
    if (this.#isInLine) this.#write('\n');
    this.#isInLine = false;
  }

  #line(line: string): void {
    if (this.#options.isSilent) return;
    this.#endLine();
    this.#seconds.clear();
    note(line);
  }

  #write(text: string): void {
    if (!this.#options.isSilent) process.stderr.write(text);
  }
}
