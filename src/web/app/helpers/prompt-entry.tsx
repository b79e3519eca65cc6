import type { GetPromptResult, Prompt } from '@modelcontextprotocol/client';
import { toField } from '../environments/form-values.ts';
import { Messages } from './content.tsx';
import { Entry } from './entry.tsx';
import { FieldForm } from './field-form.tsx';
import type { McpSession } from './mcp-session.ts';
import { OutcomeView } from './outcome-view.tsx';
import { useAction } from './use-action.ts';

/** A prompt, with a form for its arguments, which are texts. */
export function PromptEntry({ session, prompt }: { readonly session: McpSession; readonly prompt: Prompt }) {
  const { name, title, description = '', arguments: declared = [] } = prompt;
  const { outcome, run, cancel } = useAction<GetPromptResult>(session);
  const fields = declared.map((argument) =>
    toField(
      { name: argument.name, isRequired: argument.required === true, description: argument.description ?? '' },
      { type: 'string' },
      {},
    ),
  );
  const get = (values: Record<string, unknown>) =>
    void run((options) => session.getPrompt(name, values as Record<string, string>, options)); // Each field is a text.
  return (
    <Entry name={name} about={title} description={description}>
      <FieldForm
        label={`Get ${name}`}
        fields={fields}
        submit={`Get ${name}`}
        isRunning={outcome.state === 'running'}
        suggest={(argument, value, signal) =>
          session.complete({ type: 'ref/prompt', name }, { name: argument, value }, signal)
        }
        onSubmit={get}
        onCancel={cancel}
      />
      <OutcomeView outcome={outcome}>{({ messages }) => <Messages messages={messages} />}</OutcomeView>
    </Entry>
  );
}
