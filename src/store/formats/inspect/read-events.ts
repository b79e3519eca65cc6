import { toCount, toTime } from '../imported-trace.ts';
import { type InspectSample, type ModelEvent, modelEventSchema, toolEventSchema } from './shapes.ts';

/** Facts from a sample's events. The messages of a sample have neither times nor tokens. */
export interface EventFacts {
  /** Model events by the id of the message in the response. */
  readonly models: ReadonlyMap<string, ModelEvent>;
  /** Milliseconds of tool calls by the id of the call. */
  readonly toolMs: ReadonlyMap<string, number>;
  readonly firstAt: string | undefined;
  readonly lastAt: string | undefined;
}

export function readEvents(events: NonNullable<InspectSample['events']>): EventFacts {
  const models = new Map<string, ModelEvent>();
  const toolMs = new Map<string, number>();
  let firstAt: string | undefined;
  let lastAt: string | undefined;
  for (const event of events) {
    const at = toTime(event.timestamp);
    if (at !== undefined && (firstAt === undefined || at < firstAt)) firstAt = at;
    if (at !== undefined && (lastAt === undefined || at > lastAt)) lastAt = at;
    // Events of other kinds or versions hold nothing for a trace.
    const model = event.event === 'model' ? modelEventSchema.safeParse(event).data : undefined;
    const id = model?.output.choices?.[0]?.message?.id;
    if (model !== undefined && id) models.set(id, model);
    const tool = event.event === 'tool' ? toolEventSchema.safeParse(event).data : undefined;
    if (tool !== undefined) toolMs.set(tool.id, durationOf(tool));
  }
  return { models, toolMs, firstAt, lastAt };
}

function durationOf({
  timestamp,
  completed,
  working_time,
}: {
  timestamp?: unknown;
  completed?: unknown;
  working_time?: unknown;
}) {
  const [from, to] = [toTime(timestamp), toTime(completed)];
  if (from !== undefined && to !== undefined) return Math.max(0, Date.parse(to) - Date.parse(from));
  return toCount(typeof working_time === 'number' ? working_time * 1_000 : 0);
}
