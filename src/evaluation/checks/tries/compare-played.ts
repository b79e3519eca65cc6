import { isJsonObject } from '../../../contract/json.ts';
import type { Trace } from '../../../contract/service/trace.ts';
import type { ToolResult } from '../../../environment/client/environment-client.ts';
import { preview } from '../../../support/schema/json-schema.ts';
import { createObservations } from '../../replays/snapshots.ts';
import { promptOf, resultsOf, textOfPrompt, toolsOf } from '../player/observed.ts';
import { shown } from '../player/passes.ts';
import type { PlayedSession } from '../player/play.ts';

/**
 * The first difference between two sessions of one task, in words; undefined if they are the same. The check's own
 * temporary folders and volatile parts are not compared.
 */
export function differenceOf(given: PlayedSession, other: PlayedSession): string | undefined {
  const [before, after] = [withoutFolders(given), withoutFolders(other)];
  const observations = createObservations(given.volatile);
  const [prompt, otherPrompt] = [promptOf(before), promptOf(after)];
  if (!observations.samePrompt(prompt, otherPrompt)) {
    return `the prompt: ${differingPart(textOfPrompt(prompt), textOfPrompt(otherPrompt))}`;
  }
  if (!observations.sameTools(toolsOf(before), toolsOf(after))) return 'the tools that it offers';
  const [results, others] = [resultsOf(before), resultsOf(after)];
  for (const [index, result] of results.entries()) {
    const call = `call ${index + 1}, ${result.name}(${preview(result.arguments)})`;
    const its = others[index];
    if (its === undefined) return `${call}, which was not reached: ${endOf(after.trace)}`;
    if (result.name !== its.name) return `call ${index + 1}: ${result.name}, then ${its.name}`;
    const [first, second] = [toResult(result), toResult(its)];
    if (observations.sameResult(result.name, first, second)) continue;
    return `the result of ${call}: ${differingPart(textOfResult(first), textOfResult(second))}`;
  }
  if (others.length > results.length) return `the number of calls: ${results.length}, then ${others.length}`;
  if (before.trace.reward === after.trace.reward) return undefined;
  return `the reward: ${rewardOf(before.trace)}, then ${rewardOf(after.trace)}`;
}

function rewardOf(trace: Trace): string {
  return trace.reward === null ? `none (${endOf(trace)})` : shown(trace.reward);
}

function endOf({ error, stop_reason, status }: Trace): string {
  return error?.message ?? stop_reason ?? status;
}

type ResultRecord = ReturnType<typeof resultsOf>[number];

function toResult({ content, structured_content, is_error }: ResultRecord): ToolResult {
  return { content, structured_content: isJsonObject(structured_content) ? structured_content : null, is_error };
}

function textOfResult({ content }: ToolResult): string {
  return content.map((block) => (block.type === 'text' ? String(block.text) : JSON.stringify(block))).join('\n');
}

const FOLDER = /[^\s"'\\]*\/proctor-check-[A-Za-z0-9]+\/t-[A-Za-z0-9]+/g;

function withoutFolders(played: PlayedSession): PlayedSession {
  const text = JSON.stringify(played.trace);
  if (!text.includes('/proctor-check-')) return played;
  return { ...played, trace: JSON.parse(text.replace(FOLDER, '$TMPDIR')) as Trace };
}

/** Characters of each text that are shown around the difference. */
const SHOWN = 60;

function differingPart(before: string, after: string): string {
  let at = 0;
  while (at < before.length && at < after.length && before[at] === after[at]) at += 1;
  const start = Math.max(0, at - SHOWN / 3);
  const part = (text: string) => preview(`${start > 0 ? '…' : ''}${text.slice(start, start + SHOWN)}`);
  return `${part(before)}, then ${part(after)}`;
}
