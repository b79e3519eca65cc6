import { ApiError, BoundaryError } from '../../contract/errors.ts';
import { isJsonObject } from '../../contract/json.ts';
import { IMITATION_PROVIDER } from '../../contract/training-states.ts';
import type { Database } from '../../database/database.ts';
import { toGatewayMessages } from '../../dialects/chat/transcript-to-chat.ts';
import type { ChatModel, ModelRequest, ModelResponse } from '../../model/chat-model.ts';
import type { ServedBase, ServedModels } from '../../model/model-config.ts';
import { answerWith, callsWith } from '../../model/reference-response.ts';
import { toLearnedMessages } from './conversation.ts';
import { imitate, type Lesson, toLesson } from './imitate.ts';

const NAME = /^proctor\/imitation:[0-9a-f]{64}(?:-[0-9a-f]{8})?$/;
/** Models whose lessons stay in memory. */
const MAX_LOADED = 4;

export interface Learned {
  readonly lessons: readonly Lesson[];
  readonly base: ServedBase;
}

/** Whether it is the name of a model that `proctor/imitation` made; whether there is one is another matter. */
function isImitationName(name: string): boolean {
  return NAME.test(name);
}

/** The models that `proctor/imitation` has made, which any process of the database plays. Holds nothing open. */
export function createImitationModels({ kysely }: Pick<Database, 'kysely'>): ServedModels {
  const loaded = new Map<string, Promise<Learned>>();
  const load = (name: string) => {
    const known = loaded.get(name);
    if (known !== undefined) return known;
    const loading = readLearned(kysely, name);
    loaded.set(name, loading);
    // One that is not there may come.
    loading.catch(() => loaded.delete(name));
    for (const first of loaded.keys()) if (loaded.size > MAX_LOADED) loaded.delete(first);
    return loading;
  };
  return {
    has: isImitationName,
    create: (name, _context, createOther, guard) =>
      new ImitationModel(
        name,
        () => load(name),
        (base) => createOther(base, guard),
      ),
  };
}

/** The lines of a dataset in OpenAI's form. */
export function toLessons(lines: string): readonly Lesson[] {
  // The first of two that are as near counts: lines come in the order of trace ids, which are chance.
  return lines
    .split('\n')
    .sort()
    .flatMap((line) => {
      const value: unknown = line.trim() === '' ? undefined : JSON.parse(line);
      if (!isJsonObject(value) || !Array.isArray(value.messages)) return [];
      return [toLesson(toLearnedMessages(value.messages))];
    });
}

async function readLearned(kysely: Database['kysely'], name: string): Promise<Learned> {
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
 * Does what was done in the nearest of the conversations that it was made from. From the first turn on for which it has
 * learned nothing, its base plays the rest.
 */
class ImitationModel implements ChatModel {
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
