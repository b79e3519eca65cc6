import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import { customInputSchema } from '../call-arguments.ts';
import type { PartReader } from '../content-parts.ts';
import { toProviderTool } from '../provider-tools.ts';
import { invalidField, requiredObject, requiredText, textOrEmpty } from '../request-fields.ts';
import type { ToolNames } from '../tool-names.ts';
import { typedTool } from './typed-calls.ts';

interface Reading {
  readonly names: ToolNames;
  readonly parts: PartReader;
}

/** Adds the tools of a list. Tools in a namespace keep it. */
export function addTools(
  tools: Json | undefined,
  param: string,
  reading: Reading,
  namespace: string | null = null,
): void {
  if (tools === undefined || tools === null) return;
  if (!Array.isArray(tools)) throw invalidField(param, 'a list', tools);
  tools.forEach((value, index) => {
    addTool(requiredObject(value, `${param}[${index}]`), `${param}[${index}]`, reading, namespace);
  });
}

function addTool(tool: JsonObject, param: string, reading: Reading, namespace: string | null): void {
  const { names, parts } = reading;
  const type = textOrEmpty(tool.type) || 'function';
  const description = textOrEmpty(tool.description);
  if (type === 'namespace') {
    addTools(tool.tools, `${param}.tools`, reading, requiredText(tool.name, `${param}.name`));
    return;
  }
  if (type === 'function' || type === 'custom') {
    const own_name = requiredText(tool.name, `${param}.name`);
    const schema = isJsonObject(tool.parameters) ? tool.parameters : { type: 'object', properties: {} };
    const input_schema = type === 'custom' ? customInputSchema(tool.format) : schema;
    names.add({ own_name, namespace, form: type, description, input_schema });
    return;
  }
  const typed = typedTool(tool);
  if (typed !== undefined) {
    names.add({
      own_name: type,
      namespace: null,
      form: 'typed',
      description: typed.description,
      input_schema: typed.schema,
    });
  } else if (type !== 'tool_search') {
    // A tool search adds nothing, because the model gets the list of all tools.
    parts.providerTools.push(toProviderTool(type));
  }
}
