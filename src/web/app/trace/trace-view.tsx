import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { SearchText } from '../components/marked.tsx';
import { DetailsPanel } from './details-panel.tsx';
import { goTo } from './go-to.ts';
import { HelpDialog } from './help-dialog.tsx';
import { Outline } from './outline.tsx';
import { Lightbox, PictureStrip } from './steps/picture-strip.tsx';
import { collectPictures } from './steps/pictures.ts';
import { TimeBar } from './time-bar.tsx';
import { Toolbar } from './toolbar.tsx';
import type { TraceState } from './trace-feed.ts';
import { TraceHeader } from './trace-header.tsx';
import { Transcript } from './transcript.tsx';
import { useKeys } from './use-keys.ts';
import { useSearch } from './use-search.ts';
import { VerdictPanel } from './verdict-panel.tsx';
import { type Kind, TraceContext, type TraceViewContext } from './view-context.ts';

export interface TraceViewProps {
  readonly state: TraceState;
  readonly actions: ComponentChildren;
  /** Where the run belongs, such as its evaluation. */
  readonly place?: ComponentChildren;
  blobAddress(sha256: string): string;
  /** Lets a model go on after a step; undefined where that is not possible. */
  readonly continueFrom?: ((step: number) => void) | undefined;
}

/** A trace, wherever it comes from: why it ended so, where the time went, and all that happened. */
export function TraceView({ state, actions, place, blobAddress, continueFrom }: TraceViewProps) {
  const { trace, attempts, pending, phase } = state;
  const entries = attempts.at(-1)?.entries ?? [];
  const isLive = trace.finished_at === null;
  const [hidden, setHidden] = useState<ReadonlySet<Kind>>(new Set());
  const [openPicture, setOpenPicture] = useState<number | undefined>(undefined);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const searchRef = useRef<HTMLInputElement>(null);
  const { search, marked, setText, step } = useSearch(entries);
  const pictures = useMemo(() => collectPictures(entries, blobAddress), [entries, blobAddress]);
  const context = useMemo(
    (): TraceViewContext => ({
      hidden,
      pictures: new Map(pictures.map((picture) => [picture.source, picture])),
      blobAddress,
      openPicture: (source) => setOpenPicture(pictures.findIndex((picture) => picture.source === source)),
      continueFrom,
    }),
    [hidden, pictures, blobAddress, continueFrom],
  );
  const found = useMemo(() => new Set(search.found), [search.found]);
  useKeys({
    entries,
    isLive,
    focusSearch: () => searchRef.current?.focus(),
    showHelp: () => setHelpOpen(true),
  });
  useStartingPlace(entries.length);
  const transcript = useMemo(
    () => <Transcript attempts={attempts} isLive={isLive} pending={pending} />,
    [attempts, isLive, pending],
  );
  return (
    <TraceContext.Provider value={context}>
      <SearchText.Provider value={marked}>
        <div class="trace page">
          <TraceHeader trace={trace} phase={phase} actions={actions} place={place} />
          <VerdictPanel trace={trace} attempts={attempts} />
          <TimeBar timing={trace.timing} attempts={attempts} />
          <DetailsPanel trace={trace} />
          {hidden.has('images') ? null : <PictureStrip pictures={pictures} onOpen={setOpenPicture} />}
          <Toolbar
            hidden={hidden}
            search={search}
            searchRef={searchRef}
            onToggle={(kind) => setHidden(toggled(hidden, kind))}
            onSearch={setText}
            onStep={step}
            onHelp={() => setHelpOpen(true)}
          />
          <div class="trace-columns">
            <Outline entries={entries} found={found} isLive={isLive} />
            {transcript}
          </div>
          {phase === 'reading' ? <p class="quiet line">Reading the rest…</p> : null}
        </div>
        {isHelpOpen ? <HelpDialog onClose={() => setHelpOpen(false)} /> : null}
        {openPicture === undefined ? null : (
          <Lightbox pictures={pictures} index={openPicture} onChange={setOpenPicture} />
        )}
      </SearchText.Provider>
    </TraceContext.Provider>
  );
}

function toggled(kinds: ReadonlySet<Kind>, kind: Kind): ReadonlySet<Kind> {
  const changed = new Set(kinds);
  if (!changed.delete(kind)) changed.add(kind);
  return changed;
}

/** The address may name a step, which may come later than the beginning of a long trace. */
function useStartingPlace(entryCount: number): void {
  const wanted = useRef(location.hash.slice(1));
  useEffect(() => {
    if (wanted.current !== '' && goTo(wanted.current)) wanted.current = '';
  }, [entryCount]);
  useEffect(() => {
    const onHash = () => goTo(location.hash.slice(1));
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
}
