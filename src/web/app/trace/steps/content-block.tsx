import type { ContentBlock } from '../../../../contract/chat.ts';
import type { ContentPart, PromptMessage } from '../../../../contract/scenario.ts';
import { JsonTree } from '../../components/json-tree.tsx';
import { LongText } from '../../components/long-text.tsx';
import { ImageBlock } from './picture-view.tsx';

/** Text that is longer is not looked into whether it is JSON. In characters. */
const LONGEST_JSON = 2_000_000;

/** The content of a message of a prompt or a person. */
export function MessageContent({ content }: { readonly content: PromptMessage['content'] }) {
  if (typeof content === 'string') return <LongText text={content} />;
  return (
    <>
      {content.map((part, index) =>
        part.type === 'text' ? <LongText key={index} text={part.text} /> : <Block key={index} block={part} />,
      )}
    </>
  );
}

/** One MCP content block. JSON in a text block is laid out; everything else is shown as it came. */
export function Block({ block }: { readonly block: ContentBlock | ContentPart }) {
  if (block.type === 'text' && typeof block.text === 'string') return <ResultText text={block.text} />;
  if (block.type === 'image') return <ImageBlock data={block.data} mimeType={block.mimeType} />;
  if (block.type === 'resource_link' && typeof block.uri === 'string')
    return <ResourceLink block={block} uri={block.uri} />;
  return <JsonTree value={block} />;
}

function ResultText({ text }: { readonly text: string }) {
  const value = parseShownJson(text);
  if (value !== undefined) return <JsonTree value={value} />;
  return text === '' ? <p class="quiet">Empty text</p> : <LongText text={text} kind="mono" />;
}

/** Leads somewhere only where that is the web, and never with anything of this page. */
function ResourceLink({ block, uri }: { readonly block: ContentBlock; readonly uri: string }) {
  return (
    <>
      {/^https?:\/\//i.test(uri) && URL.canParse(uri) ? (
        <p>
          <a href={uri} target="_blank" rel="noopener noreferrer">
            {uri}
          </a>
        </p>
      ) : null}
      <JsonTree value={block} />
    </>
  );
}

/** Undefined for what is no JSON object or array. */
export function parseShownJson(text: string): unknown {
  if (text.length > LONGEST_JSON || !/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
