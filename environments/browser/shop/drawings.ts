import { type Html, html } from './html.ts';
import { type CategoryId, COLOURS, type ColourName, PRODUCT_LINES } from './product-lines.ts';

/** A picture of a product in one of its colours, 200 by 200: the same kind of thing in four builds for each category. */
export function drawing(productId: string, colour: ColourName): Html {
  const line = PRODUCT_LINES.find(({ id }) => id === productId);
  if (line === undefined) throw new Error(`There is no product ${productId}`);
  const build = PRODUCT_LINES.filter(({ category }) => category === line.category).indexOf(line);
  return html`<svg class="drawing" viewBox="0 0 200 200" aria-hidden="true"><ellipse cx="100" cy="172" rx="62" ry="7" fill="#000" opacity=".08"/>${SHAPES[line.category](COLOURS[colour], build)}</svg>`;
}

const WOOD = '#b88a5b';
const DARK = '#3b372f';
const SHADE = '#000';

type Shape = (fill: string, build: number) => Html;

const SHAPES: Readonly<Record<CategoryId, Shape>> = {
  lamps: (fill, build) => {
    const stem = [70, 58, 40, 108][build] ?? 70;
    const half = [58, 48, 34, 40][build] ?? 58;
    const body = build === 1 ? html`<ellipse cx="100" cy="140" rx="34" ry="30" fill="${fill}"/>` : undefined;
    if (build === 3)
      return html`<circle cx="100" cy="112" r="52" fill="${fill}"/><circle cx="86" cy="98" r="22" fill="#fff" opacity=".4"/><rect x="68" y="156" width="64" height="14" rx="4" fill="${WOOD}"/>`;
    return html`<rect x="97" y="${stem}" width="6" height="${168 - stem}" fill="${DARK}"/><rect x="70" y="162" width="60" height="9" rx="4" fill="${DARK}"/><path d="M${100 - half * 0.55} ${stem - 18} L${100 + half * 0.55} ${stem - 18} L${100 + half} ${stem + 40} L${100 - half} ${stem + 40} Z" fill="${build === 1 ? '#f3e6c8' : fill}"/><path d="M${100 - half} ${stem + 40} L${100 + half} ${stem + 40} L${100 + half + 12} 162 L${100 - half - 12} 162 Z" fill="#f6d98a" opacity=".22"/>${body}`;
  },
  tableware: (fill, build) => {
    if (build === 0)
      return html`<path d="M138 92 q34 0 34 26 q0 26 -36 26" fill="none" stroke="${fill}" stroke-width="11"/><path d="M52 70 H142 V146 q0 24 -24 24 H76 q-24 0 -24 -24 Z" fill="${fill}"/><rect x="52" y="70" width="90" height="12" fill="${SHADE}" opacity=".12"/>`;
    if (build === 1)
      return html`<path d="M34 88 H166 q0 82 -66 82 q-66 0 -66 -82 Z" fill="${fill}"/><ellipse cx="100" cy="88" rx="66" ry="13" fill="${SHADE}" opacity=".18"/>`;
    if (build === 2)
      return html`<ellipse cx="100" cy="162" rx="66" ry="11" fill="${fill}"/><ellipse cx="100" cy="160" rx="46" ry="6" fill="${SHADE}" opacity=".1"/><path d="M128 108 q24 0 24 17 q0 17 -26 17" fill="none" stroke="${fill}" stroke-width="8"/><path d="M66 96 H134 q0 62 -34 62 q-34 0 -34 -62 Z" fill="${fill}"/><ellipse cx="100" cy="96" rx="34" ry="8" fill="${DARK}" opacity=".55"/>`;
    return html`<path d="M18 116 H182 q-8 54 -50 54 H68 q-42 0 -50 -54 Z" fill="${fill}"/><ellipse cx="100" cy="116" rx="82" ry="16" fill="${SHADE}" opacity=".14"/><circle cx="76" cy="104" r="17" fill="#c8643f"/><circle cx="108" cy="98" r="19" fill="#d99b3b"/><circle cx="134" cy="106" r="14" fill="#8a9b52"/>`;
  },
  textiles: (fill, build) => {
    if (build === 3)
      return html`<path d="M40 66 q60 -18 120 0 q16 50 0 100 q-60 14 -120 0 q-16 -50 0 -100 Z" fill="${fill}"/><path d="M58 84 q42 -10 84 0 M54 116 h92 M58 148 q42 8 84 0" stroke="#fff" stroke-width="3" fill="none" opacity=".4"/>`;
    const folds = [0, 1, 2].map(
      (fold) =>
        html`<rect x="${36 - build * 3}" y="${70 + fold * 33}" width="${128 + build * 6}" height="31" rx="14" fill="${fill}"/><rect x="${36 - build * 3}" y="${70 + fold * 33}" width="${128 + build * 6}" height="31" rx="14" fill="${SHADE}" opacity="${fold * 0.07}"/><path d="M${60 + build * 8} ${70 + fold * 33} v31 M${84 + build * 16} ${70 + fold * 33} v31" stroke="#fff" stroke-width="${5 - build}" opacity=".35"/>`,
    );
    const fringe = Array.from(
      { length: 12 },
      (_, index) => html`<path d="M${46 + index * 10} 166 v10" stroke="${fill}" stroke-width="3"/>`,
    );
    return html`${folds}${build === 0 && fringe}`;
  },
  planters: (fill, build) => {
    const leaf = (x: number, y: number, turn: number) =>
      html`<path transform="translate(${x} ${y}) rotate(${turn})" d="M0 0 q-17 -30 0 -62 q17 32 0 62 Z" fill="#5f7d4f"/>`;
    const leaves = html`${leaf(100, 106, -48)}${leaf(100, 106, -20)}${leaf(100, 104, 8)}${leaf(100, 106, 36)}${leaf(100, 108, 62)}`;
    if (build === 1)
      return html`${leaves}<path d="M66 132 L56 172 M134 132 L144 172 M100 136 V172" stroke="${WOOD}" stroke-width="7"/><path d="M58 96 H142 L134 144 H66 Z" fill="${fill}"/>`;
    if (build === 2)
      return html`<g transform="translate(-34 14) scale(.9)">${leaves}</g><g transform="translate(52 14) scale(.9)">${leaves}</g><path d="M26 110 H174 L164 170 H36 Z" fill="${fill}"/><path d="M26 110 H174 V120 H26 Z" fill="${SHADE}" opacity=".12"/>`;
    if (build === 3)
      return html`<path d="M100 14 L62 104 M100 14 L138 104" stroke="${WOOD}" stroke-width="4"/><g transform="translate(18 26) scale(.82)">${leaves}</g><path d="M54 104 H146 q-4 56 -46 56 q-42 0 -46 -56 Z" fill="${fill}"/>`;
    return html`${leaves}<path d="M54 100 H146 L134 164 H66 Z" fill="${fill}"/><rect x="48" y="96" width="104" height="16" rx="4" fill="${fill}"/><rect x="48" y="108" width="104" height="4" fill="${SHADE}" opacity=".14"/><rect x="58" y="163" width="84" height="9" rx="4" fill="${fill}"/>`;
  },
  storage: (fill, build) => {
    if (build === 1)
      return html`<rect x="40" y="92" width="120" height="78" rx="4" fill="${fill}"/><rect x="34" y="74" width="132" height="24" rx="4" fill="${fill}"/><rect x="34" y="92" width="132" height="6" fill="${SHADE}" opacity=".15"/><circle cx="100" cy="86" r="5" fill="${DARK}"/>`;
    if (build === 2)
      return html`<path d="M48 60 H152 L144 170 H56 Z" fill="${fill}"/><ellipse cx="100" cy="60" rx="52" ry="11" fill="${SHADE}" opacity=".2"/><rect x="82" y="84" width="36" height="10" rx="5" fill="${SHADE}" opacity=".25"/>`;
    if (build === 3)
      return html`<path d="M56 98 q44 -86 88 0" fill="none" stroke="${WOOD}" stroke-width="7"/><path d="M30 98 H170 q-6 72 -70 72 q-64 0 -70 -72 Z" fill="${fill}"/><path d="M56 98 q4 48 30 70 M144 98 q-4 48 -30 70" stroke="${WOOD}" stroke-width="6" fill="none"/>`;
    const weave = Array.from(
      { length: 5 },
      (_, row) =>
        html`<path d="M${44 + row * 2} ${98 + row * 14} q14 -9 28 0 t28 0 t28 0 t28 0" transform="translate(0 0)" stroke="${SHADE}" opacity=".18" stroke-width="4" fill="none"/>`,
    );
    return html`<path d="M38 92 q0 -28 22 -28 M162 92 q0 -28 -22 -28" stroke="${fill}" stroke-width="8" fill="none"/><path d="M36 86 H164 L150 170 H50 Z" fill="${fill}"/>${weave}<rect x="32" y="82" width="136" height="12" rx="6" fill="${fill}"/><rect x="32" y="82" width="136" height="12" rx="6" fill="${SHADE}" opacity=".12"/>`;
  },
  clocks: (fill, build) => {
    const face = (radius: number) =>
      html`<circle cx="100" cy="102" r="${radius}" fill="#fbf8f1"/>${Array.from({ length: 12 }, (_, hour) => html`<rect x="98.5" y="${102 - radius + 5}" width="3" height="8" fill="${DARK}" transform="rotate(${hour * 30} 100 102)"/>`)}<path d="M100 102 V${102 - radius * 0.72} M100 102 L${100 + radius * 0.42} ${102 + radius * 0.2}" stroke="${DARK}" stroke-width="5" stroke-linecap="round"/><circle cx="100" cy="102" r="5" fill="#c8643f"/>`;
    if (build === 1)
      return html`<path d="M34 170 V104 q0 -66 66 -66 q66 0 66 66 V170 Z" fill="${WOOD}"/><circle cx="100" cy="102" r="52" fill="${fill}"/>${face(44)}<rect x="28" y="164" width="144" height="9" rx="3" fill="${DARK}"/>`;
    if (build === 2)
      return html`<circle cx="66" cy="48" r="20" fill="${fill}"/><circle cx="134" cy="48" r="20" fill="${fill}"/><path d="M62 152 L52 172 M138 152 L148 172" stroke="${DARK}" stroke-width="8"/><circle cx="100" cy="102" r="62" fill="${fill}"/>${face(50)}`;
    if (build === 3)
      return html`<rect x="94" y="24" width="12" height="18" rx="4" fill="${DARK}"/><rect x="38" y="40" width="124" height="130" rx="26" fill="${fill}"/>${face(46)}`;
    return html`<circle cx="100" cy="102" r="70" fill="${fill}"/>${face(58)}`;
  },
};
