import { DATASET_FILES, type DatasetFormat, type DatasetManifest } from '../../contract/service/dataset.ts';

/** `dataset.md`: the sources, the rules and the counts of a dataset. It holds no time. */
export function toCard(manifest: DatasetManifest): string {
  const { select, lines, tasks, bytes, held_out: heldOut } = manifest;
  return `${[
    `# Dataset ${manifest.hash.slice(0, 12)}`,
    '',
    `Format \`${manifest.format}\`: ${lines.train} lines of ${tasks.train} tasks to train on, ` +
      `${lines.validation} lines of ${tasks.validation} tasks to validate with, about ${manifest.tokens} tokens.`,
    '',
    '## From',
    '',
    ...fromLines(manifest),
    '',
    '## Rule',
    '',
    `- reward of at least ${select.min_reward}${manifest.format === 'openai-dpo' ? ' against less' : ''}`,
    `- reference models: ${select.include_reference ? 'taken' : 'left out'}`,
    `- at most ${select.max_per_task} of each task, chosen: ${select.choose}`,
    `- validation: ${select.validation} of the tasks, drawn by the seed ${select.seed}`,
    `- reasoning: ${select.reasoning === 'keep' ? 'kept' : 'left out'}`,
    ...(select.splits === undefined ? [] : [`- tasks of the splits ${select.splits.join(', ')} alone`]),
    `- held out: ${heldOut.length === 0 ? 'tasks of the split test, and those marked so' : heldOut.map(quoted).join(', ')}`,
    '',
    '## Steps',
    '',
    '| step | in | out | dropped |',
    '| --- | ---: | ---: | --- |',
    ...manifest.steps.map(
      ({ step, in: before, out, dropped }) => `| ${step} | ${before} | ${out} | ${listed(dropped)} |`,
    ),
    '',
    '## Models',
    '',
    ...Object.entries(manifest.models).map(([model, count]) => `- ${quoted(model)}: ${count}`),
    '',
    '## Files',
    '',
    `- \`${DATASET_FILES.train}\`: ${bytes.train} bytes`,
    `- \`${DATASET_FILES.validation}\`: ${bytes.validation} bytes`,
    `- \`${DATASET_FILES.sources}\`: the trace of each line`,
    `- \`${DATASET_FILES.manifest}\`: these figures, and the hash \`${manifest.hash}\``,
    '',
    ...useLines(manifest.format),
  ].join('\n')}\n`;
}

function fromLines({ from }: DatasetManifest): readonly string[] {
  if ('evaluations' in from) return from.evaluations.map((id) => `- evaluation ${quoted(id)}`);
  const filters = Object.entries(from.filter).map(([name, value]) => `- ${name}: ${quoted(textOf(value))}`);
  return filters.length === 0 ? ['- all traces'] : filters;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function listed(dropped: Readonly<Record<string, number>>): string {
  return Object.entries(dropped)
    .map(([reason, count]) => `${reason} ${count}`)
    .join(', ');
}

/** Quotes any text as one line of Markdown code. */
function quoted(text: string): string {
  return `\`${text.replaceAll('`', "'").replaceAll(/[\p{Cc}|]+/gu, ' ')}\``;
}

/** The trainer's settings for the file. */
function useLines(format: DatasetFormat): readonly string[] {
  const settings = SETTINGS[format];
  return settings === undefined ? [] : ['## Use', '', ...settings];
}

const SETTINGS: Readonly<Partial<Record<DatasetFormat, readonly string[]>>> = {
  trl: [
    '`SFTTrainer` takes the file as it is; `assistant_only_loss=True` needs a chat template with `{% generation %}`.',
  ],
  axolotl: [
    '```yaml',
    'datasets:',
    '  - path: train.jsonl',
    '    ds_type: json',
    '    type: chat_template',
    '    field_messages: messages',
    '    message_field_training: train',
    '    roles_to_train: [assistant]',
    '```',
  ],
  'llama-factory': [
    'In `dataset_info.json`:',
    '',
    '```json',
    '{"proctor": {"file_name": "train.jsonl", "formatting": "openai",',
    '  "columns": {"messages": "messages", "tools": "tools"},',
    '  "tags": {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant",',
    '    "observation_tag": "tool", "function_tag": "function_call", "system_tag": "system"}}}',
    '```',
  ],
};
