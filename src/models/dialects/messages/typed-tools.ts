import type { JsonObject } from '../../../contract/json.ts';

/**
 * Tools that Anthropic defines and the agent runs. A request has no schema for them, so other models get the schema and
 * description that Anthropic's models were trained on.
 */
export function typedTool(type: string): { readonly description: string; readonly schema: JsonObject } | undefined {
  const kind = /^(bash|text_editor|computer|memory)_\d{8}$/.exec(type)?.[1];
  return kind === undefined ? undefined : TOOLS.get(kind);
}

const TEXT = { type: 'string' };
const POINT = { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 2 };

/** Fields that edits of files have, be they of a program or of the model's notes. */
const FILE_FIELDS: JsonObject = {
  path: TEXT,
  file_text: TEXT,
  old_str: TEXT,
  new_str: TEXT,
  insert_line: { type: 'integer' },
  insert_text: TEXT,
  view_range: { type: 'array', items: { type: 'integer' } },
};

const TOOLS: ReadonlyMap<string, { readonly description: string; readonly schema: JsonObject }> = new Map(
  Object.entries({
    bash: {
      description: 'Runs a command in a shell that stays open between calls. `restart` begins with a new one.',
      schema: objectOf({ command: TEXT, restart: { type: 'boolean' } }, []),
    },
    text_editor: {
      description:
        'Views and edits files: `view` (with `view_range` of lines), `create` (with `file_text`), `str_replace` (`old_str`, which has to occur once, by `new_str`), `insert` (`insert_text` after line `insert_line`).',
      schema: objectOf(
        {
          command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'undo_edit'] },
          ...FILE_FIELDS,
        },
        ['command', 'path'],
      ),
    },
    computer: {
      description:
        'Uses a computer: `action` says what to do, such as screenshot, left_click, type, key, mouse_move, scroll or wait.',
      schema: objectOf(
        {
          action: TEXT,
          coordinate: POINT,
          start_coordinate: POINT,
          text: TEXT,
          duration: { type: 'number' },
          scroll_direction: { type: 'string', enum: ['up', 'down', 'left', 'right'] },
          scroll_amount: { type: 'integer' },
          region: { type: 'array', items: { type: 'integer' } },
        },
        ['action'],
      ),
    },
    memory: {
      description: 'Keeps notes in files below /memories between conversations.',
      schema: objectOf(
        {
          command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
          ...FILE_FIELDS,
          old_path: TEXT,
          new_path: TEXT,
        },
        ['command'],
      ),
    },
  }),
);

function objectOf(properties: JsonObject, required: string[]): JsonObject {
  return { type: 'object', properties, required };
}
