import type { CallToolResult, GetPromptResult, ReadResourceResult } from '@modelcontextprotocol/client';
import { countText } from '../../../support/text/figures.ts';
import { preview } from '../../format.ts';
import { JsonTree } from '../components/json-tree.tsx';
import { Block, MessageContent } from '../trace/steps/content-block.tsx';
import { toSource } from '../trace/steps/pictures.ts';

/** The result of a tool. */
export function ToolResult({ result }: { readonly result: CallToolResult }) {
  const { content, structuredContent } = result;
  return (
    <div class="contents">
      {content.map((block, index) => (
        <Content key={index} block={block} />
      ))}
      {structuredContent === undefined ? null : (
        <details class="more">
          <summary>Structured content</summary>
          <JsonTree value={structuredContent} />
        </details>
      )}
    </div>
  );
}

/** The contents of a resource. */
export function ResourceContents({ contents }: Pick<ReadResourceResult, 'contents'>) {
  return (
    <div class="contents">
      {contents.map((part, index) => (
        <section key={index} class="content-part" aria-label={part.uri}>
          <p class="quiet small">
            <code>{part.uri}</code> {part.mimeType}
          </p>
          {'text' in part ? (
            <Block block={{ type: 'text', text: part.text }} />
          ) : (
            <Bytes data={part.blob} mimeType={part.mimeType} />
          )}
        </section>
      ))}
    </div>
  );
}

export interface Message {
  readonly role: string;
  readonly content: GetPromptResult['messages'][number]['content'] | Parameters<typeof MessageContent>[0]['content'];
}

/** Messages of a prompt, as a model is given them. */
export function Messages({ messages }: { readonly messages: readonly Message[] }) {
  return (
    <div class="contents">
      {messages.map(({ role, content }, index) => (
        <section key={index} class={`message ${role}`} aria-label={`Message of the ${role}`}>
          <h4>{role}</h4>
          <Parts content={content} />
        </section>
      ))}
    </div>
  );
}

function Parts({ content }: Pick<Message, 'content'>) {
  if (typeof content === 'string') return <MessageContent content={content} />;
  const parts = Array.isArray(content) ? content : [content];
  return (
    <>
      {parts.map((part, index) =>
        part.type === 'text' ? (
          <MessageContent key={index} content={[{ type: 'text', text: part.text }]} />
        ) : (
          <Content key={index} block={part} />
        ),
      )}
    </>
  );
}

function Content({ block }: { readonly block: { readonly type: string } & Readonly<Record<string, unknown>> }) {
  const { type, data, mimeType, resource } = block;
  if ((type === 'image' || type === 'audio') && typeof data === 'string')
    return <Bytes data={data} mimeType={mimeType} />;
  if (type === 'resource' && typeof resource === 'object' && resource !== null && 'uri' in resource) {
    return <ResourceContents contents={[resource as ReadResourceResult['contents'][number]]} />;
  }
  return <Block block={block} />;
}

const SOUND = /^audio\/[a-z0-9.+-]+$/i;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** A picture or a sound is shown where its type can hold nothing else; of other bytes their number is said. */
function Bytes({ data, mimeType }: { readonly data: string; readonly mimeType: unknown }) {
  const picture = toSource(data, mimeType, () => 'data:,');
  if (picture !== undefined) return <img class="content-picture" src={picture} alt={String(mimeType)} />;
  if (typeof mimeType === 'string' && SOUND.test(mimeType) && BASE64.test(data)) {
    // biome-ignore lint/a11y/useMediaCaption: an environment sends no captions.
    return <audio controls src={`data:${mimeType};base64,${data}`} />;
  }
  const size = Math.max(0, Math.floor((data.length * 3) / 4) - (/=*$/.exec(data)?.[0].length ?? 0));
  return <p class="quiet">{`${countText(size, 'byte')} of type ${preview(mimeType ?? 'unknown')}`}</p>;
}
