import { ApiError, BoundaryError } from '../../contract/errors.ts';
import { isJsonObject } from '../../contract/json.ts';
import { IMITATION_PROVIDER } from '../../contract/service/training-states.ts';
import { toGatewayMessages } from '../../models/dialects/chat/transcript-to-chat.ts';
import type { ChatModel, ModelRequest, ModelResponse } from '../../models/gateway/chat-model.ts';
import type { ServedBase } from '../../models/gateway/model-config.ts';
import { answerWith, callsWith } from '../../models/gateway/reference/reference-response.ts';
import type { Database } from '../../store/database/database.ts';
import { toLearnedMessages } from './conversation.ts';
import { imitate, type Lesson, toLesson } from './imitate.ts';

export interface Learned {
  readonly lessons: readonly Lesson[];
  readonly base: ServedBase;
}

/** Parses the lines of a dataset in OpenAI's form. */
export function toLessons(lines: string): readonly Lesson[] {
  // The first of two equally similar lessons wins. Sorting keeps the random order of trace ids from deciding.
  return lines
    .split('\n')
    .sort()
    .flatMap((line) => {
      const value: unknown = line.trim() === '' ? undefined : JSON.parse(line);
      if (!isJsonObject(value) || !Array.isArray(value.messages)) return [];
      return [toLesson(toLearnedMessages(value.messages))];
    });
}

export async function readLearned(kysely: Database['kysely'], name: string): Promise<Learned> {
  const row = await kysely.selectFrom('imitation_models').selectAll().where('name', '=', name).executeTakeFirst();
  if (row !== undefined)
    return { lessons: toLessons(row.conversations), base: { target: row.base, gateway: row.base_gateway } };
  throw new ApiError(
    'model_not_found',
    `There is no model ${name}: ${IMITATION_PROVIDER} has not made it in this database.`,
    {
      param: 'model',
    },
  );
}

/**
 * Imitates the nearest conversation of its dataset. From the first turn without a similar lesson on, its base model
 * plays the rest.
 */
export class ImitationModel implements ChatModel {
  readonly name: string;
  readonly #load: () => Promise<Learned>;
  readonly #createBase: (base: ServedBase) => ChatModel;
  #base: ChatModel | undefined;
  #made = 0;

  constructor(name: string, load: () => Promise<Learned>, createBase: (base: ServedBase) => ChatModel) {
    this.name = name;
    this.#load = load;
    this.#createBase = createBase;
  }

  async respond(request: ModelRequest): Promise<ModelResponse> {
    request.signal.throwIfAborted();
    if (this.#base !== undefined) return await this.#base.respond(request);
    const { lessons, base } = await this.#learned();
    const next = imitate(lessons, toLearnedMessages(toGatewayMessages(request.messages)));
    const tools = new Set(request.tools.map(({ name }) => name));
    if (next === undefined || next.calls.some(({ name }) => !tools.has(name))) {
      this.#base = this.#createBase(base);
      return await this.#base.respond(request);
    }
    if (next.calls.length === 0) return answerWith(next.text, request.onDelta);
    const calls = next.calls.map((call) => {
      this.#made += 1;
      return { id: `imitation_${this.#made}`, ...call, raw_arguments: null };
    });
    return callsWith(calls);
  }

  checkResults(results: Parameters<NonNullable<ChatModel['checkResults']>>[0]): void {
    this.#base?.checkResults?.(results);
  }

  async #learned(): Promise<Learned> {
    try {
      return await this.#load();
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      throw new BoundaryError('model', cause.code, cause.message, { cause });
    }
  }
}
