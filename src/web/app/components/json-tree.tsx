import { useContext, useState } from 'preact/hooks';
import { countText, grouped } from '../../../support/text/figures.ts';
import { CopyButton } from './copy-button.tsx';
import { LongText } from './long-text.tsx';
import { Marked, SearchText } from './marked.tsx';

/** Values that are open at first, and members that are drawn at a time. */
const OPEN_VALUES = 48;
const MEMBERS_AT_ONCE = 100;
/** Most characters of a value on one line. */
const INLINE_LENGTH = 64;
const DEEPEST_OPEN = 6;

/** JSON that can be folded, searched and copied. Small values are open at first. */
export function JsonTree({ value }: { readonly value: unknown }) {
  return (
    <div class="json">
      <span class="json-copy">
        <CopyButton text={() => JSON.stringify(value, null, 2)} label="Copy the JSON" />
      </span>
      <Member value={value} depth={0} isOpenAtFirst={countValues(value, OPEN_VALUES + 1) <= OPEN_VALUES} />
    </div>
  );
}

interface MemberProps {
  readonly name?: string | undefined;
  readonly value: unknown;
  readonly depth: number;
  readonly isOpenAtFirst: boolean;
}

function Member({ name, value, depth, isOpenAtFirst }: MemberProps) {
  if (typeof value !== 'object' || value === null) return <Leaf name={name} value={value} />;
  const inline = toInline(value);
  if (inline !== undefined) {
    return (
      <div class="json-row">
        <Name name={name} />
        <Inline text={inline} />
      </div>
    );
  }
  return <Container name={name} value={value} depth={depth} isOpenAtFirst={isOpenAtFirst} />;
}

function Container({ name, value, depth, isOpenAtFirst }: MemberProps & { readonly value: object }) {
  const searched = useContext(SearchText);
  const [chosen, setChosen] = useState<boolean | undefined>(undefined);
  const [shownMembers, setShownMembers] = useState(MEMBERS_AT_ONCE);
  const isFound = searched !== '' && JSON.stringify(value).toLowerCase().includes(searched);
  const isOpen = chosen ?? (isFound || (depth < DEEPEST_OPEN && (isOpenAtFirst || depth === 0)));
  const isArray = Array.isArray(value);
  const members = isOpen ? Object.entries(value) : [];
  const [opening, closing] = isArray ? ['[', ']'] : ['{', '}'];
  return (
    <div class="json-container">
      <div class="json-row">
        <button type="button" class="json-fold" aria-expanded={isOpen} onClick={() => setChosen(!isOpen)}>
          <Name name={name} />
          <span class="json-brace">{isOpen ? opening : `${opening} ${describeSize(value)} ${closing}`}</span>
        </button>
      </div>
      {isOpen ? (
        <>
          <div class="json-members">
            {members.slice(0, shownMembers).map(([key, member]) => (
              <Member
                key={key}
                {...(isArray ? {} : { name: key })}
                value={member}
                depth={depth + 1}
                isOpenAtFirst={isOpenAtFirst}
              />
            ))}
            {members.length > shownMembers ? (
              <button type="button" class="link" onClick={() => setShownMembers(shownMembers + 10 * MEMBERS_AT_ONCE)}>
                {`${grouped(members.length - shownMembers)} more`}
              </button>
            ) : null}
          </div>
          <div class="json-row json-brace">{closing}</div>
        </>
      ) : null}
    </div>
  );
}

function Leaf({ name, value }: { readonly name: string | undefined; readonly value: unknown }) {
  if (typeof value === 'string' && (value.includes('\n') || value.length > 400)) {
    return (
      <div class="json-block">
        <Name name={name} />
        <LongText text={value} kind="mono" />
      </div>
    );
  }
  return (
    <div class="json-row">
      <Name name={name} />
      <Inline text={JSON.stringify(value) ?? 'undefined'} />
    </div>
  );
}

function Name({ name }: { readonly name: string | undefined }) {
  if (name === undefined) return null;
  return (
    <span class="json-name">
      <Marked text={name} />
      {': '}
    </span>
  );
}

/** JSON on one line, coloured by type. */
function Inline({ text }: { readonly text: string }) {
  return (
    <span class="json-inline">
      {[...text.matchAll(TOKEN)].map(([token, isName], index) => (
        <span key={index} class={kindOf(token, isName !== undefined)}>
          <Marked text={token} />
        </span>
      ))}
    </span>
  );
}

const TOKEN = /("(?:[^"\\]|\\.)*")(?=:)|"(?:[^"\\]|\\.)*"|[^"]+/g;

function kindOf(token: string, isName: boolean): string {
  if (isName) return 'json-name';
  if (token.startsWith('"')) return 'json-string';
  return /^-?\d|^(true|false|null)$/.test(token) ? 'json-value' : 'json-brace';
}

/** Undefined if the value is too long or too nested for one line. */
function toInline(value: object): string | undefined {
  const members = Object.values(value);
  if (members.length > 12 || members.some((member) => typeof member === 'object' && member !== null)) {
    return members.length === 0 ? JSON.stringify(value) : undefined;
  }
  if (members.some((member) => typeof member === 'string' && member.length > INLINE_LENGTH)) return undefined;
  const inner = Array.isArray(value)
    ? members.map((member) => JSON.stringify(member))
    : Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${JSON.stringify(member)}`);
  const text = Array.isArray(value) ? `[${inner.join(', ')}]` : `{ ${inner.join(', ')} }`;
  return text.length <= INLINE_LENGTH ? text : undefined;
}

function describeSize(value: object): string {
  return Array.isArray(value) ? countText(value.length, 'item') : countText(Object.keys(value).length, 'field');
}

/** Number of values in a value, including itself, up to `limit`. */
function countValues(value: unknown, limit: number): number {
  if (typeof value !== 'object' || value === null) return typeof value === 'string' ? 1 + value.length / 400 : 1;
  let count = 1;
  for (const member of Object.values(value)) {
    count += countValues(member, limit - count);
    if (count >= limit) return count;
  }
  return count;
}
