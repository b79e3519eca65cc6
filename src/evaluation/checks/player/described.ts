import type { AgentTool } from '../../../contract/chat.ts';
import { isJsonObject } from '../../../contract/json.ts';
import { preview } from '../../../support/schema/json-schema.ts';
import { grouped } from '../../../support/text/figures.ts';
import type { CheckTask, Finding } from '../finding.ts';
import { resultsOf } from './observed.ts';
import type { PlayedSession } from './play.ts';
import type { SessionPlayer } from './session-player.ts';

/** Longest result in characters. A longer one takes too much of a model's context. */
const MAX_RESULT = 100_000;

/** Finds tools and arguments without descriptions. */
export function undescribed(tools: readonly AgentTool[]): readonly Finding[] {
  return tools.flatMap(({ name, description, input_schema }) => {
    const { properties } = input_schema;
    const bare = Object.entries(isJsonObject(properties) ? properties : {})
      .filter(
        ([, schema]) =>
          !isJsonObject(schema) || typeof schema.description !== 'string' || schema.description.trim() === '',
      )
      .map(([argument]) => argument);
    const missing = [
      ...(description.trim() === '' ? ['no description'] : []),
      ...(bare.length > 0 ? [`no description of ${bare.join(', ')}`] : []),
    ];
    if (missing.length === 0) return [];
    return [warning(`The tool ${name} has ${missing.join(' and ')}: an agent has to guess.`)];
  });
}

/** Finds results that are too long, and thrown errors that are no `ToolError`. */
export function illTold(task: CheckTask, played: PlayedSession, bench: SessionPlayer): readonly Finding[] {
  const reproduce = bench.commandOf(task, played);
  return resultsOf(played).flatMap(({ name, arguments: args, content, is_error }) => {
    const text = content.map((block) => (block.type === 'text' ? String(block.text) : '')).join('\n');
    const call = `${name}(${preview(args)})`;
    const show = { task, played, reproduce };
    if (text.length > MAX_RESULT) {
      return [{ ...warning(`${call} gives ${grouped(text.length)} characters.`), ...show }];
    }
    // The agent's message for every thrown error that is no `ToolError`.
    if (!is_error || text !== `The tool ${name} failed`) return [];
    const cause = played.trace.logs.find(
      ({ level, message }) => level === 'error' && message.includes(`The tool ${name}`),
    );
    const why = cause === undefined ? '' : ` It threw: ${cause.message.split('\n')[0] ?? ''}`;
    return [{ ...warning(`${call} tells its agent no more than that it failed: throw a ToolError.${why}`), ...show }];
  });
}

export function warning(message: string): Finding {
  return { finding: 'described', level: 'warning', message };
}
