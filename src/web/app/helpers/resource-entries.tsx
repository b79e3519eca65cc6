import {
  type ReadResourceResult,
  type Resource,
  type ResourceTemplateType,
  UriTemplate,
} from '@modelcontextprotocol/client';
import { toField } from '../environments/form-values.ts';
import { ResourceContents } from './content.tsx';
import { Entry } from './entry.tsx';
import { FieldForm } from './field-form.tsx';
import type { McpSession } from './mcp-session.ts';
import { OutcomeView } from './outcome-view.tsx';
import { useAction } from './use-action.ts';

export function ResourceEntry({ session, resource }: { readonly session: McpSession; readonly resource: Resource }) {
  const { uri, name, mimeType, description = '' } = resource;
  const { outcome, run, cancel } = useAction<ReadResourceResult>(session);
  return (
    <Entry name={uri} about={aboutOf(name, uri, mimeType)} description={description}>
      <FieldForm
        label={`Read ${uri}`}
        fields={[]}
        submit="Read"
        isRunning={outcome.state === 'running'}
        onSubmit={() => void run((options) => session.readResource(uri, options))}
        onCancel={cancel}
      />
      <OutcomeView outcome={outcome} done="Read">
        {({ contents }) => <ResourceContents contents={contents} />}
      </OutcomeView>
    </Entry>
  );
}

/** A resource of whose URI some parts are written into a form. */
export function TemplateEntry({
  session,
  template: { uriTemplate, name, mimeType, description = '' },
}: {
  readonly session: McpSession;
  readonly template: ResourceTemplateType;
}) {
  const { outcome, run, cancel } = useAction<ReadResourceResult>(session);
  const parsed = parseTemplate(uriTemplate);
  const fields = (parsed?.variableNames ?? []).map((variable) =>
    toField({ name: variable, isRequired: true, description: '' }, { type: 'string', minLength: 1 }, {}),
  );
  const read = (values: Record<string, unknown>) => {
    const uri = parsed?.expand(values as Record<string, string>) ?? uriTemplate; // Each of its fields is a text.
    void run((options) => session.readResource(uri, options));
  };
  return (
    <Entry name={uriTemplate} about={aboutOf(name, uriTemplate, mimeType)} description={description}>
      <FieldForm
        label={`Read ${uriTemplate}`}
        fields={fields}
        submit="Read"
        isRunning={outcome.state === 'running'}
        suggest={(variable, value, signal) =>
          session.complete({ type: 'ref/resource', uri: uriTemplate }, { name: variable, value }, signal)
        }
        onSubmit={read}
        onCancel={cancel}
      />
      <OutcomeView outcome={outcome} done="Read">
        {({ contents }) => <ResourceContents contents={contents} />}
      </OutcomeView>
    </Entry>
  );
}

function aboutOf(name: string, address: string, mimeType: string | undefined): string | undefined {
  const parts = [name === address ? '' : name, mimeType ?? ''].filter((part) => part !== '');
  return parts.length === 0 ? undefined : parts.join(' · ');
}

/** Undefined for what a server calls a template and is none: it is read as it is. */
function parseTemplate(text: string): UriTemplate | undefined {
  try {
    return new UriTemplate(text);
  } catch {
    return undefined;
  }
}
