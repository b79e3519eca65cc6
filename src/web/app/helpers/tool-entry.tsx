import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import type { JsonObject } from '../../../contract/json.ts';
import { type Field, toField, toSchemaFields } from '../environments/form-values.ts';
import { SchemaTable } from '../environments/schema-table.tsx';
import { ToolResult } from './content.tsx';
import { Entry } from './entry.tsx';
import { FieldForm } from './field-form.tsx';
import type { McpSession } from './mcp-session.ts';
import { OutcomeView } from './outcome-view.tsx';
import { useAction } from './use-action.ts';

/** A tool, with a form that calls it as an agent does. */
export function ToolEntry({ session, tool }: { readonly session: McpSession; readonly tool: Tool }) {
  const { name, title, description = '', inputSchema, outputSchema } = tool;
  const { outcome, run, cancel } = useAction<CallToolResult>(session);
  const fields = toSchemaFields(inputSchema);
  // Without properties a schema says nothing of what a call may hold, or that it holds nothing.
  const isOpen = fields.length === 0 && inputSchema.additionalProperties !== false;
  const call = (values: Record<string, unknown>) => {
    const args = (isOpen ? (values[WHOLE.name] ?? {}) : values) as JsonObject; // Read from JSON texts.
    void run((options) => session.callTool(name, args, options));
  };
  return (
    <Entry name={name} about={title} description={description}>
      <FieldForm
        label={`Call ${name}`}
        fields={isOpen ? [WHOLE] : fields}
        submit={`Call ${name}`}
        isRunning={outcome.state === 'running'}
        onSubmit={call}
        onCancel={cancel}
      />
      <OutcomeView outcome={outcome} describe={({ isError }) => (isError === true ? TOOL_ERROR : undefined)}>
        {(result) => <ToolResult result={result} />}
      </OutcomeView>
      <details class="more">
        <summary>Schemas</summary>
        <SchemaTable label={`Arguments of ${name}`} schema={inputSchema} none="It names no arguments." />
        {outputSchema === undefined ? null : (
          <SchemaTable label={`Result of ${name}`} schema={outputSchema} none="It names no fields." />
        )}
      </details>
    </Entry>
  );
}

const TOOL_ERROR = 'The tool answered with an error';

const WHOLE: Field = toField(
  { name: 'arguments', isRequired: false, description: 'The schema names none: all of them as one object.' },
  { type: 'object' },
  {},
);
