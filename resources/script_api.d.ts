// SPDX-License-Identifier: Apache-2.0
// The script language of kvlab: every global, every method, every field of every result. Scripts are
// plain JavaScript (ES2016); each call returns when its work is done. A call that fails throws a
// KvlabError with the caller's file and line; a tick that fails is returned with ok: false.

/** Shape of everything that is thrown. `code` is stable: compare with it; `kvlab list errors` shows every code. */
interface KvlabError extends Error {
  readonly code: string;
  /** The refused operation, or the one that failed. */
  readonly what: string;
  /** The cause, with the figures. */
  readonly why: string;
  /** The next step. */
  readonly remedy: string;
  /** Place in the action list, from 0. */
  readonly action?: number;
  /** Name of the offending field or manifest key. */
  readonly field?: string;
  readonly value?: unknown;
  readonly file: string;
  readonly line: number;
}

/** Keys of a manifest (`kvlab list manifest`); whatever is missing has its default. */
type Manifest = { [key: string]: unknown };

type Action =
  | { action: "replace_pair"; original_pos1: number; original_pos2: number; new_token_ids: number[] }
  | { action: "replace"; positions: number[]; new_token_ids: number[] }
  | { action: "add"; token_id: number }
  | { action: "delete"; position: number }
  | { action: "insert"; position: number; token_ids: number[] }
  | { action: "evict"; layer: number; kv_head?: number; ledger: number[] }
  | { action: "expand"; node: number }
  | { action: "collapse"; node: number };

interface TickEvent {
  /** "generate", "apply", "replace_pair", "compute_rows", "commit", ... */
  name: string;
  /** 0 = step of the tick, 1 = action, 2 = operation, 3 and deeper = op of the back end (op_events). */
  depth: number;
  layer?: number;
  /** Microseconds since the tick began, and its duration. */
  start_us: number;
  us: number;
  /** Bytes read and written. */
  bytes: number;
  detail?: string;
  /** Of commit: the rings behind it, one entry for the first of some layers whose rings are the same. shift: slots by which the oldest row that stayed moved towards slot 0; write: slots that hold the new rows, [first, count] around the end. */
  rings?: { layer: number; layers: number; length: number; offset: number; shift: number; write: [number, number]; pointer: number; filled: number }[];
  /** Of compute_rows: copies that attention read for the last rows of the pass, in layouts that make some. ranges: slots in the order of the copy, [first, count]; pointer: of the ring before. */
  reads?: { layer: number; layers: number; pointer: number; rows: number; ranges: [number, number][] }[];
}

interface WlodNode { node: number; level: 0 | 1 | 2; start: number; end: number; }

/** Nats per token behind the whole text, behind gists, means, as many of the last tokens as there are gists, and nothing. */
interface GistLosses { full: number; trained: number; mean: number; truncation: number; nothing: number; }

interface WlodTree {
  attention: "flat" | "pyramid";
  gist: string;
  lens: string;
  /** Why the gists may be worth less than as many of the last tokens; "" where they were measured to be better. */
  notice: string;
  /** The losses of gists on text that their training has not seen, by level; [] if nobody has measured them. */
  figures: { level: number; tokens: number; nll: GistLosses; kl: GistLosses }[];
  /** Moments that a pyramid's query sees as entries, and through LOD1 at least; blur of a gist in halves of its span. */
  w: number;
  w2: number;
  sigma: number;
  /** Length of the time line; entries of the working context and the most there may be; rows with summaries. */
  moments: number;
  length: number;
  budget: number;
  rows: number;
  /** Moments from here on may not be collapsed. */
  protectedFrom: number;
  /** The last change in shares: rows that held it, rows that came after it, (row, layer) pairs left in place, entries put in
   * place of others; and moments that stand as tokens, LOD1, LOD2. null before anything happened. */
  ratios: { spatial: number | null; temporal: number | null; hits: number | null; swaps: number | null; residency: [number, number, number] };
  /** The last edit that was more than appending. */
  change: {
    tick: number;
    edits: { begin: number; end: number; content: boolean }[];
    earliest: number;
    rows: number;
    why: { clean?: number; hierarchical?: number; temporal?: number; both?: number };
    layer0Kept: number;
    gists: number;
    swapped: number;
    computed: number;
    /** By `selective`: dirty rows left as they were. */
    left: number;
    full: boolean;
    reason: string;
    share: number;
    /** As the cost model saw them, and as it was. */
    incrementalUs: number;
    fullUs: number;
    us: number;
    bytes: number;
  } | null;
  /** The last 512, oldest first. */
  rounds: {
    round: number; tick: number; moments: number; budget: number; before: number; after: number; unlisted: number;
    decisions: (WlodNode & { edit: "expand" | "collapse"; score: number; done: boolean; code: string; reason: string })[];
  }[];
  draft: { begin: number; end: number } | null;
  /** Microseconds of a row, and of a row that a query looks at, through all layers, as passes have shown. */
  costs: { rowUs: number; pairUs: number; threshold: number };
  entries?: (WlodNode & { ledger: number; phase: number; cooling: number; mass: number | null; score: number | null })[];
}

/** layer counts cache layers: where residency is by KV head, each head of a layer counts. */
interface Violation {
  invariant: string; detail: string; layer?: number; index?: number; ledger?: number; since?: DamageSince;
}

/** Ticks between which damage came: after the last check that passed the place, before the one that found it. */
interface DamageSince {
  /** Absent where no check has passed the place since it is there. */
  verified?: number;
  /** Instead of verified: the tick in which the row was computed. */
  computed?: number;
  found: number;
  /** All of it in words: "between tick 12 (verified) and tick 41 (found)". */
  text: string;
  /** The session came back from this later tick in between. */
  reached?: number;
}

/** Other members that a template asks for, such as tool_calls, may stand beside the two. Keys keep their order, at every depth.
 * A message may also be the JSON text of such an object. */
interface ChatMessage { role: string; content: unknown; }
/** The text and the number of tokens that were appended. */
interface ChatReply { text: string; tokens: number; tick: number; }

/** A pair of neighbours that culling looked at. */
interface CulledPairNote {
  /** Of the first of the two, before the tick. */
  position: number;
  ledger: [number, number];
  /** Of the brighter one. */
  brightness: number;
  /** Of those passed over a report lists the first 16; "enough": the next pair behind as many as the rule takes. */
  outcome: "culled" | "no_near_token" | "pinned" | "listed" | "not_resident" | "overlaps" | "enough";
  /** The token in its place. */
  token?: number;
  text: string;
}

interface TickReport {
  ok: boolean;
  error?: { code: string; what: string; why: string; remedy: string; action?: number; field?: string; value?: unknown };
  tick: number;
  /** Id of the generated or given token, of a block the last one; null if none was added. */
  token: number | null;
  /** All tokens of the tick: one, or as many as ring.block_tokens says. */
  block: number[];
  text: string;
  actions: Action[];
  /** The pairs that brightness culling chose, and those that were as dim and were passed over, the dimmest first. */
  culling?: CulledPairNote[];
  /** Rows that windows have left behind, by layer. */
  left: { layer: number; kv_head?: number; ledger: number[] }[];
  /** What the tick's rows gave when they became int8 or fp8, by cache layer of such a type; values: that were converted, 0 for a K or V of another type. */
  conversions: { layer: number; k: QuantCounts & { values: number }; v: QuantCounts & { values: number } }[];
  events: TickEvent[];
  violations: Violation[];
  /** In the last report of a step, and in that of a prompt, that a breakpoint stopped: its condition. */
  stoppedBy?: string;
  /** stepStage gives it, and so does a step or a prompt that stopped inside a tick: the place of the open tick; null once the tick is over. */
  stage?: OpenStage | null;
  /** inject, evict, expand and collapse give it with now: the number of actions that the call queued. */
  queued?: number;
}

/** Actions that wait, or with now the tick that applied them. */
type Queued = { pending: number } | TickReport;

/** count: ticks that ran, also those whose reports did not come back. */
interface RunReport<Tick> { ticks: Tick[]; count: number; stoppedBy: string }

/** The place of a tick that was stopped inside. */
interface OpenStage {
  /** The last step of the tick; "token": a token of a block waits for the commit, "prune": policies have decided about the computed
   * rows, and none has left, "apply": the commit is made. */
  stage: "generate" | "observe" | "plan" | "action" | "token" | "prune" | "apply";
  next: "generate" | "observe" | "plan" | "action" | "token" | "prune" | "apply" | "verify";
  /** Tokens and actions of the tick so far, behind "prune" with the evictions. */
  tokens: number[];
  actions: Action[];
  /** At the stages plan and action: how many edits of the list `context` shows, of how many. */
  shown: number;
  of: number;
  /** Ledger ids in context order, with the shown edits or the computed tokens that wait. */
  context: number[];
}

interface PlannedAction {
  /** In the given list; what was pending before it is counted in the figures, but not listed. */
  place?: number;
  action: string;
  /** Positions before the edit. */
  removed?: number[];
  finalPosition?: number;
  newLedger?: number[];
  layer?: number;
  /** Present if residency is by KV head. */
  kv_head?: number;
  ledger?: number[];
}

interface EditPlan {
  ok: boolean;
  actions: PlannedAction[];
  lengthAfter: number;
  /** Rows left as they are although their context changed. */
  stale: number;
  recomputed: number;
  phaseShifted: number;
  newRows: number;
  bytes: number;
}

interface AttentionMatrix {
  tick: number;
  layer: number;
  kvHead: number | null;
  /** Query heads of the layer; where residency is by KV head, those of the KV head. */
  heads: number[];
  /** Context positions of the queries. */
  begin: number;
  end: number;
  /** Tokens of the context. */
  length: number;
  /** [heads][queries][length]; null: the row is not resident in the layer, or the query is a summary's. */
  values: (number | null)[];
  /** [heads][queries] on the query's own row where the layer does not hold that row, else 0. */
  own: number[];
}

/** K or V of a row. Lists by head have an entry for each KV head of the layer. */
interface RowTensor {
  /** [KV heads][head dimension] as stored; with compare also the other row's. */
  data: number[];
  other?: number[];
  /** L2. */
  norms: (number | null)[];
  type: string;
  /** null where the type has no scales. */
  scales: number[] | null;
  /** |data - other| / |other|; null: not finite. */
  relative?: (number | null)[];
}

interface RowShape {
  /** KV heads, head dimension. */
  shape: [number, number];
  /** there: false if the layer did not hold the row at that tick. */
  compared?: { with: "rebuild" | "before"; tick: number; there: boolean };
}

/** The answer of row(): K or V, or with which: "both" the two. */
type StoredRow = (RowTensor | { k: RowTensor; v: RowTensor }) & RowShape;

/** Names, presets and help: `kvlab list policies`. At most one of budget, capacity and ratio may be given. */
interface Policy {
  name: string;
  preset?: string;
  /** Rows of the bands: the first ones, the last ones, and those chosen by score between them. */
  sinks?: number;
  window?: number;
  budget?: number;
  /** Rows of all bands together, or their share of the context at the end of the prompt. */
  capacity?: number;
  ratio?: number;
  /** Rows whose score is lower leave, budget or not. */
  threshold?: number;
  /** Rows beyond the bands that make a tick decide; 1 if left out. The end of a prompt always decides. */
  interval?: number;
  /** The way in which the scores of KV heads become one; "each" asks for residency by KV head, and is "max" without. */
  heads?: "mean" | "max" | "sum" | "each";
  allocator?: "uniform" | "pyramid";
  beta?: number;
  /** Whether the KV heads of a layer have budgets of their own; adaptive needs residency "kv_head". */
  head_budget?: "uniform" | "adaptive";
  /** Share of a head's mean number of rows that it keeps for sure. */
  alpha?: number;
  [own: string]: unknown;
}

/** Predicted and actual lifespans as log4 of tokens. */
interface LifespanFigures {
  serial: number;
  tick: number;
  /** Tokens of the context. */
  rows: number;
  /** Attention that counts as use. */
  threshold: number;
  /** Per layer, per KV head; empty for a layer without a gate. */
  layers: {
    rows: number;
    /** The part of these rows that was still in use when the text ended; the figures leave them out. */
    censored: number;
    r2: number | null;
    /** Mean of predicted minus actual. */
    bias: number | null;
    /** [mean predicted, mean actual, rows] by rising prediction, half a log4 wide. */
    bins: [number, number, number][];
    points?: { predicted: number[]; actual: number[]; censored: number[] };
  }[][];
}

interface PolicyAudit {
  /** A prompt comes in parts: nothing leaves before it ends. */
  prefilling: boolean;
  /** The tick of the last decision, and the microseconds that it took. */
  tick: number | null;
  us: number;
  layers: {
    layer: number;
    /** Present if residency is by KV head: then there is one entry for each head. */
    kvHead?: number;
    policy: string;
    spec: Policy;
    /** False while the layer keeps everything. */
    bounded: boolean;
    /** More rows than requested. */
    broken: boolean;
    requested: number | null;
    bands: { sinks: number; budget: number; window: number } | null;
    rows: number;
    rowBytes: number;
    /** Rows that left by the last decision, and ever. */
    evicted: number;
    evictedEver: number;
    /** Last tick that evicted a row. */
    fired: number | null;
    /** Pinned rows for which the budget has no room. */
    protectedRows: number;
    /** Rows beyond the bands that wait for the next decision, at most. */
    waiting: number;
    /** The rule that was used in place of the requested one, and why. */
    fallback: string;
    /** Rows that left the window in the last tick, and the rows that left the layer for them. */
    contests: { challenger: number; challengerScore: number | null; loser: number; loserScore: number | null }[];
  }[];
}

interface Drift {
  /** Relative L2 against a rebuild, per layer. */
  k: number[];
  v: number[];
  /** KL(rebuild || live) of the next token. */
  kl: number;
  /** With attention: true: |o - o_full| / |o_full| of the newest token, [layer][query head]. */
  attention?: number[][];
  /** The row that differs most; index is its position in the context. null where no row differs. */
  worst: { layer: number; index: number } | null;
  /** With rows: true: relative L2, [layer][position]; null where a layer has no row. */
  kRows?: (number | null)[][];
  vRows?: (number | null)[][];
}
interface Ring {
  layout: string;
  /** Slots: the window and room for the rows that are computed before a commit. */
  capacity: number;
  /** Rows kept. */
  window: number;
  /** ring.block_tokens; divides capacity. The phase is the block that the oldest row lies in. */
  block: number;
  phase: number;
  /** (head + filled) mod capacity = (offset - base) mod capacity. */
  pointer: number;
  head: number;
  filled: number;
  /** Rows ever written. */
  offset: number;
  /** Changes only by an edit, a trim or a rollback, last at tick baseTick. */
  base: number;
  baseTick: number;
  wraps: number;
  /** Rows from the oldest one's slot to the end of the pool, and from its start on. */
  len1: number;
  len2: number;
  /** Where the rows lie, the oldest first: [begin, count] from one slot on and from slot 0 on. */
  slots: [[number, number], [number, number]];
  /** Rows lie rotated by head, the oldest in slot 0 (slots and write say so); head and pointer are those of the ring that is not rolled. */
  rolled: boolean;
  /** Slots, around the end, that hold the rows which the last commit made and kept: first, count. */
  write: [number, number];
  /** Index of the oldest row in the residency map. */
  first: number;
  /** Named views as half-open ranges of indices. */
  views: { committed: [number, number]; committed_plus_pending: [number, number] };
}

interface QuantError {
  /** The storage type. */
  type: string;
  /** |stored - computed| / |computed| over all heads: the worst row and the mean. */
  worst: number;
  mean: number;
  relative?: (number | null)[];
  cosine?: (number | null)[];
  /** Largest of a row's heads. */
  scale?: (number | null)[];
  atMax?: number[];
  /** The counts of converted rows since the layer's pool was made. */
  counts: QuantCounts;
}

interface LayerQuantisation {
  /** When it was measured. */
  tick: number;
  /** The types are not those of the stored rows, but tried. */
  tried: boolean;
  k: QuantError;
  v: QuantError;
  /** |q . (stored - computed)| / sqrt(d) of the newest query, over heads and rows. */
  worstLogit: number;
  logit?: (number | null)[];
}

interface QuantCounts {
  /** Finite scales written, one per head and row. */
  scales: number;
  nonFinite: number;
  clipped: number;
  atMax: number;
  floored: number;
  scale: { min: number; mean: number; max: number };
}

interface LayerStorage {
  layout: string;
  k: string;
  v: string;
  slots: number;
  /** Bytes of a row record, and what they are for. */
  stride: number;
  record: { k: number; v: number; scales: number; tags: number; padding: number };
  rows: number;
  first: number;
  window: number;
  /** Slots that are not free: rows and what history keeps. */
  held: number;
  read: "in_place" | "two_slices" | "table" | "roll";
  tailOnly: boolean;
  /** Moved to assemble what one query reads. */
  readBytes: number;
  ring: Ring | null;
  pages: { block: number; pages: number; used: number; rows: number; fragmentation: number } | null;
  /** Since the pool is there; of copies those made from lists that are held, and those listed row by row for the read. */
  counts: { k: QuantCounts; v: QuantCounts; copies: { held: number; listed: number } };
  /**
   * Another layout that would make the commits of the session cheaper; there is none where nothing would pay. All
   * figures are means of the last commits that moved rows. wouldMs is the time of a trial with the maps of these
   * commits, and its bytes at the rate of the commits themselves.
   */
  advice?: {
    layout: string; commits: number; ms: number; wouldMs: number; bytes: number; wouldBytes: number; text: string;
  };
  /** With free: true: runs of slots that no row and no older state holds, as [first, count]. */
  free?: [number, number][];
}

interface Where { tick: number; branch: string; }

/** The history as a tree: a list of entries, each a commit, with a column for each figure. With since only later entries come. */
interface Timeline {
  /** Another number says that the history has begun anew. */
  starts: number;
  size: number;
  current: number;
  branch: string;
  since: number;
  /** -1 at the opening. */
  parent: number[];
  /** The first entry of what one command did. */
  edit: number[];
  tick: number[];
  /** Rows that left layers. */
  left: number[];
  /** Entries that did more than generate. */
  edits: { entry: number[]; sort: string[]; words: string[] };
  /** Runs of entries whose states are kept: first, behind the last, and so on. */
  kept: number[];
  branches: { name: string; tip: number }[];
}

/** The state that a rebuild has ended. */
interface RebuildReport {
  ms: number;
  rows: number;
  layers: number;
  cancelled: boolean;
  /** Rows that were not what it computed, and rows that had come from a file; null without probes. */
  stale: number | null;
  loaded: number | null;
  /** KL(rebuild || live) of the next token in nats; null where there were no logits. */
  kl: number | null;
}

/** exactness says how the row differs that was asked for. */
interface RowCause {
  ledger: number;
  exactness: string;
  /** rows leads from the row to the one where it began: each has seen the next. exactness says how that one differs, in the layer
   * that is named. null for an exact row. */
  cause: null | { tick: number; verb: string; args: object; edit: string; rows: number[]; layer: number; kvHead: number | null;
                  exactness: string };
}

/** with and without are ln p: of the likeliest tokens with the rows, and behind them of those that are among the likeliest without
 * them alone. kl is KL(with || without) in nats. each has the rows hidden one by one, if that was asked for: the token is the
 * likeliest one then. */
interface KnockOut {
  kl: number;
  tokens: { id: number; text: string; with: number; without: number }[];
  each: { ledger: number; kl: number; id: number; text: string }[];
}

/** Bytes of the session's rows, and of the memory behind them. */
interface MemoryBytes {
  /** The rows that the pools have slots for, without history. They shrink after a policy has pruned a prompt and grow for the next one. */
  allocated: number;
  /** The resident rows. */
  live: number;
  /** By the last commit. */
  moved: number;
  /** Addresses of all slots, with room for rows of older states; a page takes memory when it is first written, on a device all of it
   * is taken when the session opens. */
  reserved: number;
  /** Memory that the pools take, in pages that nobody else reads, and in pages that forks read as well until one of them writes; 0
   * where the back end or the system cannot share. */
  own: number;
  shared: number;
  /** All memory that the program has at this moment, with all its sessions; 0 where the system does not tell. */
  program: number;
  /** The work of the back end since it was opened: memory taken, passes recorded and replayed, times that the host waited for the
   * device, copies to the host, and bytes that were copied to and from the host. A steady state takes no memory and records no pass. */
  allocations: number;
  captures: number;
  replays: number;
  waits: number;
  downloads: number;
  bytesDown: number;
  bytesUp: number;
  /** The device with memory of its own that computes: its memory at this moment, of all programs together, and the peak of that
   * memory, 0 where the driver does not tell it; null on the CPU. */
  device: null | { id: string; name: string; used: number; free: number; bytesPerSecond: number };
}

/** The effect of a fault: the damaged row, or the step that will fail. */
interface FaultDone {
  kind: string;
  layer?: number;
  index?: number;
  ledger?: number;
  slot?: number;
  bit?: number;
  other?: number;
  column?: string;
  n?: number;
}

/** blind: the bug's name stays secret. */
type PlantedBug = { name: string; title: string } | { blind: number };

type CacheForm = "native" | "hf_tuple" | "hf_dynamic" | "llama_cpp" | "vllm_cpu" | "vllm_cuda";
interface SavedCache { path: string; form: CacheForm; rows: number; bytes: number }
interface LoadedCache { path: string; form: CacheForm; rows: number; content: string }
interface SavedLifespans { path: string; rows: number; layers: number; after: number }
interface SavedCapture {
  path: string;
  commands: number;
  bytes: number;
}

interface Breakpoint {
  id: number; condition: string; ignore: number; once: boolean; log: boolean; enabled: boolean;
  /** The number of times that the condition has held, and the last tick at which it did; null = never. */
  hits: number; last: number | null;
}

/** Rows are matched by ledger id as far as both ledgers say the same; behind that, as after a fork, their tokens are aligned, and
 * ledgerThen tells a row's id in the other state where it has another one. k and v are |now - then| / max(|now|, |then|) of a
 * row, keys without rotation; null: not finite. changed lists rows with another phase or other values; moved counts those that
 * only have another slot. onlyThen has ids of the other state. kl: KL(then || now) of the next token, nats. */
interface Difference {
  then: number; now: number; alike: boolean; kl: number | null; onlyThen: number[]; onlyNow: number[];
  /** Texts of ids in onlyThen that the present state has another token for, or none. */
  textsThen: { [ledger: string]: string };
  /** The edit that lies between both, where the present state was compared with the one before the last edit. */
  edit?: string;
  exactness: { ledger: number; ledgerThen?: number; then: string; now: string }[];
  layers: { layer: number; kvHead: number | null; type: [string, string]; onlyThen: number[]; onlyNow: number[];
            changed: { ledger: number; ledgerThen?: number; phase: [number, number]; k: number | null; v: number | null }[];
            moved: number; same: number }[];
}

interface Note {
  id: number;
  /** Empty = a bookmark. */
  text: string;
  tick: number; branch: string;
  /** The other parts of its place: a layer of the model, a KV head of the layer, a row of the ledger. */
  layer: number | null; kvHead: number | null; ledger: number | null;
  /** The state lies on the way to the present one, or is that one. */
  here: boolean;
  /** The history does not have the state any more. */
  lost: boolean;
}

/** value is null where it is not known. */
interface Watch { id: number; expression: string; value: number | boolean | string | null; }

/** Which columns of a table, or expressions in their place; a condition on its columns and facts; the first row and how many. */
interface TableShape { columns?: string[]; where?: string; begin?: number; limit?: number }
interface TableAnswer { table: string; begin: number; rows: number; next: number | null; columns: { [name: string]: any[] } }

// generated: tables
/** The resident rows of a layer, or also those of an open tick that wait for its commit. A cell is null where it is not
 * known, or does not apply. */
interface RowOfRows {
  /** place in the layer's residency map */
  index: number | null;
  /** physical row of the layer's pool; null for a row of an open tick */
  slot: number | null;
  /** rotary phase of the key */
  phase: number | null;
  /** blur of a gist's phase; 0 for a token */
  sigma: number | null;
  /** id in the ledger */
  ledger: number | null;
  /** ledger id that the stored record carries; another one than ledger means damage */
  tag: number | null;
  /** place in the context */
  position: number | null;
  /** the token */
  tokenId: number | null;
  /** brightness of the token */
  brightness: number | null;
  /** the policy's score; null without one */
  score: number | null;
  /** how the row stands to a rebuild: exact, context-evicted, context-edited, phase-shifted, inherited or loaded */
  exactness: string | null;
  /** tick in which the token came */
  bornTick: number | null;
  /** of the stored bytes, 16 hexadecimal digits */
  checksum: string | null;
  /** with key_phase at_write: count of turns, phases in all, bound of the relative error */
  rotations: any | null;
}

/** The tokens that the session has had: all, one, or those of the context in its order. A cell is null where it is not
 * known, or does not apply. */
interface RowOfLedger {
  /** number of the row */
  id: number | null;
  /** token or gist */
  kind: string | null;
  /** the token */
  tokenId: number | null;
  /** its text */
  text: string | null;
  /** where it came from */
  source: string | null;
  /** live, replaced, deleted, evicted, left_window, collapsed or aborted */
  state: string | null;
  /** no policy may take it */
  pinned: boolean | null;
  /** brightness, the last one where it is not live */
  brightness: number | null;
  /** tick in which it came */
  bornTick: number | null;
  /** tick in which its state changed last */
  changedTick: number | null;
  /** place in the context; null where it is not in it */
  position: number | null;
  /** negative log-likelihood of a scored token when it came, nats */
  surprise: number | null;
  /** ids in whose place it stands */
  parents: any | null;
  /** ids that stand in its place */
  children: any | null;
}

/** The session as a whole: one row. A cell is null where it is not known, or does not apply. */
interface RowOfState {
  /** ticks so far */
  tick: number | null;
  /** the branch that goes on here */
  branch: string | null;
  /** tokens in the context */
  length: number | null;
  /** tokens that still fit: free rows of the fullest cache layer, as far as the model's positions reach */
  remaining: number | null;
  /** remaining is 0: the next token is refused with capacity */
  isFull: boolean | null;
  /** the live context */
  text: string | null;
  /** one number for everything that the session remembers, 32 hexadecimal digits */
  stateHash: string | null;
}

/** The commits that led to the present state, from a tick on, oldest first or newest first. Facts speak of the state
 * behind a commit, the one before it, and the tick between; dropped ticks are executed again for them. A cell is null
 * where it is not known, or does not apply. */
interface RowOfTicks {
  /** number of the commit in the history */
  entry: number | null;
  /** tick behind it */
  tick: number | null;
  /** the command that made it */
  verb: string | null;
  /** the edit that begins with it, in words */
  words: string | null;
  /** id of the tick's token, of a block the last one */
  token: number | null;
  /** text of the tick's tokens */
  text: string | null;
  /** actions of the tick */
  actions: number | null;
  /** rows that left layers, by an action or through a window */
  left: number | null;
  /** code of the error of a tick that failed */
  failed: string | null;
  /** its state is kept */
  kept: boolean | null;
  /** its state is the present one */
  present: boolean | null;
}

/** The branches of the history. A cell is null where it is not known, or does not apply. */
interface RowOfBranches {
  /** of the branch */
  name: string | null;
  /** at its tip */
  tick: number | null;
  /** it goes on here */
  current: boolean | null;
}

/** The edits that undo and redo go over, nearest first. A cell is null where it is not known, or does not apply. */
interface RowOfEdits {
  /** undo or redo */
  way: string | null;
  /** the edit, in words */
  title: string | null;
  /** tick at its end */
  tick: number | null;
}

/** The events of one token, as far as history keeps them. A cell is null where it is not known, or does not apply. */
interface RowOfHistory {
  /** tick of the commit */
  tick: number | null;
  /** born, moved, left_layer, left_window, rebuilt, verified, damage_found, pinned, or a state */
  event: string | null;
  /** null where it is about the token */
  layer: number | null;
  /** where each has rows of its own; else null */
  kvHead: number | null;
  /** more, in words */
  detail: string | null;
}

/** Everything that happened to a row in a layer: written, turned, moved, left, made inexact, and by which command;
 * dropped ticks are executed again. A cell is null where it is not known, or does not apply. */
interface RowOfStory {
  /** tick of the commit */
  tick: number | null;
  /** the command that made it */
  verb: string | null;
  /** and its arguments */
  args: any | null;
  /** loaded, computed, rebuilt, turned, copied, converted, damaged, left, became_stale or became_exact */
  event: string | null;
  /** the stored bytes are new, or stand in another slot */
  wrote: boolean | null;
  /** behind the event; null where the row has left */
  slot: number | null;
  /** behind the event; null where the row has left */
  phase: number | null;
  /** behind the event */
  exactness: string | null;
  /** more, in words */
  detail: string | null;
  /** of the last write, as the row has it now */
  checksum: string | null;
}

/** How much attention the newest query of each tick paid to a row in a layer; dropped ticks are executed again. A cell
 * is null where it is not known, or does not apply. */
interface RowOfReads {
  /** tick of the commit */
  tick: number | null;
  /** the command that made it */
  verb: string | null;
  /** and its arguments */
  args: any | null;
  /** share of the attention, mean over query heads */
  mass: number | null;
}

/** What policies decided about rows: which they kept and dropped, at which score, rank and threshold. Of the present
 * tick or of another one; with a row of all ticks since it came. Dropped ticks are executed again. A tick that is open
 * behind the stage prune has the number after the present one. A cell is null where it is not known, or does not
 * apply. */
interface RowOfDecisions {
  /** tick of the commit */
  tick: number | null;
  /** layer of the model */
  layer: number | null;
  /** KV head, where each has rows of its own; else null */
  kvHead: number | null;
  /** the row */
  ledger: number | null;
  /** computed; kept or dropped where a policy chose among the layer's rows */
  event: string | null;
  /** sink, window or pinned: it stays whatever its score; rank: its place among the others; threshold: its score is
   * below the policy's; repeated: by an added policy, whose scores history does not have */
  ground: string | null;
  /** the policy's score; null without one */
  score: number | null;
  /** 1 = the best of the rows that competed; null where it did not compete */
  rank: number | null;
  /** rows that competed */
  of: number | null;
  /** rows of these that stayed */
  stayed: number | null;
  /** the lowest score of those that stayed; null where none did */
  threshold: number | null;
  /** the row with this score */
  lowest: number | null;
  /** of a dropped row: the row that left the window for its place; else lowest. Null where none stayed */
  replacedBy: number | null;
  /** name of the policy */
  policy: string | null;
  /** all keys of the policy */
  parameters: any | null;
  /** prompt: at its end; tick */
  when: string | null;
  /** the same in words */
  detail: string | null;
}

/** The breakpoints. A cell is null where it is not known, or does not apply. */
interface RowOfBreaks {
  /** its number */
  id: number | null;
  /** in the expression language */
  condition: string | null;
  /** so many times more it does not stop yet */
  ignore: number | null;
  /** it goes when it has stopped a run */
  once: boolean | null;
  /** it writes a line to the log instead of stopping */
  log: boolean | null;
  /** it is asked */
  enabled: boolean | null;
  /** how often it has held */
  hits: number | null;
  /** tick at which it held last; null = never */
  last: number | null;
}

/** The watches with their values now. A cell is null where it is not known, or does not apply. */
interface RowOfWatches {
  /** its number */
  id: number | null;
  /** in the expression language */
  expression: string | null;
  /** a number, a text, true or false; null where it is not known */
  value: any | null;
}

/** The notes and bookmarks. A cell is null where it is not known, or does not apply. */
interface RowOfNotes {
  /** its number */
  id: number | null;
  /** empty = a bookmark */
  text: string | null;
  /** where it stands */
  tick: number | null;
  /** on which it was written */
  branch: string | null;
  /** of the model; null where it names none */
  layer: number | null;
  /** of the layer; null where it names none */
  kvHead: number | null;
  /** the row; null where it names none */
  ledger: number | null;
  /** the state lies on the way to the present one, or is that one */
  here: boolean | null;
  /** the history does not have the state any more */
  lost: boolean | null;
}

/** The bugs of KV caches that can be planted. A cell is null where it is not known, or does not apply. */
interface RowOfBugs {
  /** as the verb bug takes it */
  name: string | null;
  /** what goes wrong */
  title: string | null;
}

/** The facts that expressions can ask for. A cell is null where it is not known, or does not apply. */
interface RowOfFacts {
  /** as expressions write it */
  name: string | null;
  /** what its brackets compare */
  keys: string | null;
  /** number, flag or text */
  type: string | null;
  /** what it says */
  help: string | null;
}

/** Checks every invariant in full. A cell is null where it is not known, or does not apply. */
interface RowOfInvariants {
  /** of the invariant */
  id: string | null;
  /** what holds */
  title: string | null;
  /** nothing is broken */
  ok: boolean | null;
  /** what is broken, or why it was not checked */
  detail: string | null;
  /** tick of the last check that passed; null = none */
  lastPass: number | null;
  /** tick of the last check of all rows that passed; null = none */
  allPassed: number | null;
  /** between which ticks it broke */
  since: any | null;
}

/** The likeliest next tokens. A cell is null where it is not known, or does not apply. */
interface RowOfTopk {
  /** the token */
  id: number | null;
  /** its text */
  text: string | null;
  /** probability */
  p: number | null;
}

interface Session {
  /** The resident rows of a layer, or also those of an open tick that wait for its commit. */
  rows(layer: number, options?: { begin?: number; end?: number; kvHead?: number; view?: "committed" | "committed_plus_pending" } & TableShape): RowOfRows[];
  rows(layer: number, begin?: number, options?: { end?: number; kvHead?: number; view?: "committed" | "committed_plus_pending" } & TableShape): RowOfRows[];
  rows(layer: number, begin?: number, end?: number, kvHead?: number, view?: "committed" | "committed_plus_pending", options?: TableShape): RowOfRows[];
  rows(options: { layer: number; begin?: number; end?: number; kvHead?: number; view?: "committed" | "committed_plus_pending" } & TableShape): RowOfRows[];
  /** The tokens that the session has had: all, one, or those of the context in its order. */
  ledger(options?: { id?: number; live?: boolean } & TableShape): RowOfLedger[];
  ledger(id?: number, options?: { live?: boolean } & TableShape): RowOfLedger[];
  ledger(id?: number, live?: boolean, options?: TableShape): RowOfLedger[];
  ledger(id: number): RowOfLedger;
  /** The session as a whole: one row. */
  state(options?: TableShape): RowOfState[];
  /** The commits that led to the present state, from a tick on, oldest first or newest first. Facts speak of the state
   * behind a commit, the one before it, and the tick between; dropped ticks are executed again for them. */
  ticks(options?: { since?: number; newest?: boolean } & TableShape): RowOfTicks[];
  ticks(since?: number, options?: { newest?: boolean } & TableShape): RowOfTicks[];
  ticks(since?: number, newest?: boolean, options?: TableShape): RowOfTicks[];
  /** The branches of the history. */
  branches(options?: TableShape): RowOfBranches[];
  /** The edits that undo and redo go over, nearest first. */
  edits(options?: { most?: number } & TableShape): RowOfEdits[];
  edits(most?: number, options?: TableShape): RowOfEdits[];
  /** The events of one token, as far as history keeps them. */
  history(ledger: number, options?: TableShape): RowOfHistory[];
  history(options: { ledger: number } & TableShape): RowOfHistory[];
  /** Everything that happened to a row in a layer: written, turned, moved, left, made inexact, and by which command;
   * dropped ticks are executed again. */
  story(ledger: number, layer: number, options?: { kvHead?: number } & TableShape): RowOfStory[];
  story(ledger: number, layer: number, kvHead?: number, options?: TableShape): RowOfStory[];
  story(options: { ledger: number; layer: number; kvHead?: number } & TableShape): RowOfStory[];
  /** How much attention the newest query of each tick paid to a row in a layer; dropped ticks are executed again. */
  reads(ledger: number, layer: number, options?: TableShape): RowOfReads[];
  reads(options: { ledger: number; layer: number } & TableShape): RowOfReads[];
  /** What policies decided about rows: which they kept and dropped, at which score, rank and threshold. Of the present
   * tick or of another one; with a row of all ticks since it came. Dropped ticks are executed again. A tick that is
   * open behind the stage prune has the number after the present one. */
  decisions(options?: { ledger?: number; layer?: number; kvHead?: number; tick?: number } & TableShape): RowOfDecisions[];
  decisions(ledger?: number, options?: { layer?: number; kvHead?: number; tick?: number } & TableShape): RowOfDecisions[];
  decisions(ledger?: number, layer?: number, kvHead?: number, tick?: number, options?: TableShape): RowOfDecisions[];
  /** The breakpoints. */
  breaks(options?: TableShape): RowOfBreaks[];
  /** The watches with their values now. */
  watches(options?: TableShape): RowOfWatches[];
  /** The notes and bookmarks. */
  notes(options?: TableShape): RowOfNotes[];
  /** The bugs of KV caches that can be planted. */
  bugs(options?: TableShape): RowOfBugs[];
  /** The facts that expressions can ask for. */
  facts(options?: TableShape): RowOfFacts[];
  /** Checks every invariant in full. */
  invariants(options?: TableShape): RowOfInvariants[];
  /** The likeliest next tokens. */
  topk(options?: { k?: number } & TableShape): RowOfTopk[];
  topk(k?: number, options?: TableShape): RowOfTopk[];
}
// end

// generated: verbs
interface Session {
  /** Appends a text to the context. */
  prompt(text: string): TickReport;
  /** Appends token ids to the context. */
  promptIds(ids: number[]): TickReport;
  /** Appends what the context does not hold of a conversation yet, in the words of the model's chat template, or of the
   * one given. With more the messages follow whatever the context holds. Without addGenerationPrompt no reply is
   * begun. */
  chat(messages: ChatMessage[], options?: { template?: string; addGenerationPrompt?: boolean; more?: boolean }): ChatReply;
  chat(messages: ChatMessage[], template?: string, options?: { addGenerationPrompt?: boolean; more?: boolean }): ChatReply;
  chat(messages: ChatMessage[], template?: string, addGenerationPrompt?: boolean, more?: boolean): ChatReply;
  chat(options: { messages: ChatMessage[]; template?: string; addGenerationPrompt?: boolean; more?: boolean }): ChatReply;
  /** Appends a text and says how surprising each token was: its negative log-likelihood. With each, tokens go in one by
   * one, so that policies act between them. */
  score(text: string, options?: { each?: boolean }): Score;
  score(text: string, each?: boolean): Score;
  score(options: { text: string; each?: boolean }): Score;
  /** Appends token ids and says how surprising each was, as score does. */
  scoreIds(ids: number[], options?: { each?: boolean }): Score;
  scoreIds(ids: number[], each?: boolean): Score;
  scoreIds(options: { ids: number[]; each?: boolean }): Score;
  /** Appends a chunk of a prompt; endPrefill ends the prompt. With last, which is true unless given, this chunk ends
   * it. */
  prefill(ids: number[], options?: { last?: boolean }): TickReport;
  prefill(ids: number[], last?: boolean): TickReport;
  prefill(options: { ids: number[]; last?: boolean }): TickReport;
  /** Ends a prompt that came in chunks: policies evict what they do not keep. Where no policy had to wait for it,
   * nothing changes. */
  endPrefill(): TickReport;
  /** Runs ticks until a breakpoint: one token each, sampled or given, with the pending actions. All lanes take the
   * tokens that are given, or those that lane 0 samples. */
  step(options?: { n?: number; tokens?: number[] }): TickReport[];
  step(n?: number, options?: { tokens?: number[] }): TickReport[];
  step(n?: number, tokens?: number[]): TickReport[];
  /** Applies only the pending action with the highest position; without one, runs a tick. */
  stepAction(): TickReport;
  /** Tells where an open tick stands, and what it has decided; null where none is open. */
  stage(): OpenStage | null;
  /** Does the next stage of a tick and stops: generate, observe, plan, each action, each token of a block, prune
   * (policies have decided, no row has left yet), apply, verify. Begins a step where no tick is open, with the given
   * tokens instead of sampled ones; behind a prompt that has not ended (last: false) it begins the end of the prompt. */
  stepStage(options?: { tokens?: number[] }): TickReport;
  stepStage(tokens?: number[]): TickReport;
  /** Runs the open tick to its end. */
  finishTick(): TickReport;
  /** Throws the open tick away, before its commit; nothing has changed then. */
  cancelTick(): null;
  /** Runs ticks until a breakpoint, an error, the end of the text or maxTicks. Reports of the last ticks come back, at
   * most as many as reports says; count is the number of all ticks that ran. */
  run(options?: { maxTicks?: number; reports?: number }): RunReport<TickReport>;
  run(maxTicks?: number, options?: { reports?: number }): RunReport<TickReport>;
  run(maxTicks?: number, reports?: number): RunReport<TickReport>;
  /** Checks actions together with the pending ones and queues them behind those. With instead they take the place of
   * the pending ones. With now the whole list is applied at once. A refused call leaves the pending ones as they were. */
  inject(actions: Action[] | Action, options?: { now?: boolean; instead?: boolean }): Queued;
  inject(actions: Action[] | Action, now?: boolean, options?: { instead?: boolean }): Queued;
  inject(actions: Action[] | Action, now?: boolean, instead?: boolean): Queued;
  /** Forgets the pending actions. A tick that was refused leaves them pending. */
  clearPending(): { pending: number };
  /** Shows what actions would do behind the pending ones, or instead of them; nothing is queued. */
  plan(actions: Action[] | Action, options?: { instead?: boolean }): EditPlan;
  plan(actions: Action[] | Action, instead?: boolean): EditPlan;
  /** Applies the pending actions now, without generating. */
  apply(): TickReport;
  /** Queues the removal of rows from one layer; now applies it at once. */
  evict(layer: number, ledger: number[], options?: { kvHead?: number; now?: boolean }): Queued;
  evict(layer: number, ledger: number[], kvHead?: number, options?: { now?: boolean }): Queued;
  evict(layer: number, ledger: number[], kvHead?: number, now?: boolean): Queued;
  evict(options: { layer: number; ledger: number[]; kvHead?: number; now?: boolean }): Queued;
  /** Adds a breakpoint for run and step: a condition in the language of the manual's page Expressions, such as
   * "evicted(ledger==12)", "kl > 0.05 and length >= 900", "changed(rows(layer==0))", "read(ledger==3)",
   * "wrap(layer==3)", "invariant" or "error". "stage(plan)" stops inside a tick, which stays open; "stage(prune) and
   * evicted(layer==3)" before a policy drops rows of the layer, at the end of a prompt, too. ignore says how often the
   * condition may hold before it stops. With once the breakpoint is forgotten when it has stopped a run. With log it
   * writes a line to the log instead of stopping. One that is not enabled is not asked. */
  break(condition: string, options?: { ignore?: number; once?: boolean; log?: boolean; enabled?: boolean }): string[];
  break(condition: string, ignore?: number, options?: { once?: boolean; log?: boolean; enabled?: boolean }): string[];
  break(condition: string, ignore?: number, once?: boolean, log?: boolean, enabled?: boolean): string[];
  break(options: { condition: string; ignore?: number; once?: boolean; log?: boolean; enabled?: boolean }): string[];
  /** Changes what a breakpoint of breaks() does: asked or not, how often it may hold before it stops, once, log.
   * Arguments that are left out stay as they are. */
  changeBreak(id: number, options?: { enabled?: boolean; ignore?: number; once?: boolean; log?: boolean }): Breakpoint;
  changeBreak(id: number, enabled?: boolean, options?: { ignore?: number; once?: boolean; log?: boolean }): Breakpoint;
  changeBreak(id: number, enabled?: boolean, ignore?: number, once?: boolean, log?: boolean): Breakpoint;
  changeBreak(options: { id: number; enabled?: boolean; ignore?: number; once?: boolean; log?: boolean }): Breakpoint;
  /** Removes all breakpoints, or the one with this id. */
  clearBreaks(options?: { id?: number }): string[];
  clearBreaks(id?: number): string[];
  /** Sets the brightness of a live token. */
  setBrightness(ledger: number, value: number): null;
  setBrightness(options: { ledger: number; value: number }): null;
  /** Pins a token: no policy may cull or evict a pinned token, and no kind of session may let it collapse. */
  pin(ledger: number, options?: { on?: boolean }): null;
  pin(ledger: number, on?: boolean): null;
  pin(options: { ledger: number; on?: boolean }): null;
  /** Gives the living session other values of these manifest keys, all or none, in one edit, from the next tick on, as
   * in settings({ policy: "h2o:ratio=0.25", kv: { k: "int8" } }). Keys that are left out stay as they are. layout, kv
   * and policy hold for every layer, except where layers of the call says otherwise. Keys that shape a session (model,
   * backend, residency, ring.window, ...) stay. capacity makes the pools anew for so many rows per layer, which frees
   * the memory of evicted ones. op_events alone is no edit. */
  settings(options?: { layout?: any; kv?: any; policy?: any; layers?: any; capacity?: any; after_edit?: any; executor?: any; position?: any; ring?: any; check?: any; sampling?: any; brightness?: any; op_events?: any }): null;
  /** Fills pages of paged layers by moving about so many rows per layer; done tells whether none are left. Call it
   * again until it is done. */
  compact(options?: { rows?: number }): { rows: number; bytes: number; done: boolean };
  compact(rows?: number): { rows: number; bytes: number; done: boolean };
  /** Computes every row again from the live context, and tells how far the live rows were from that. Damaged maps and
   * slots are made anew. */
  rebuild(): RebuildReport;
  /** Fault drill: damages the cache or makes a step fail. The manifest must have faults: true. layer counts cache
   * layers. */
  fault(kind: string, options?: { layer?: number; index?: number; bit?: number; other?: number; column?: string; seed?: number; n?: number }): FaultDone;
  fault(kind: string, layer?: number, options?: { index?: number; bit?: number; other?: number; column?: string; seed?: number; n?: number }): FaultDone;
  fault(kind: string, layer?: number, index?: number, bit?: number, other?: number, column?: string, seed?: number, n?: number): FaultDone;
  fault(options: { kind: string; layer?: number; index?: number; bit?: number; other?: number; column?: string; seed?: number; n?: number }): FaultDone;
  /** Bug clinic: plants a known bug of KV caches. From now on live passes do what the bug does. Without a name the bug
   * goes. blind is a number that draws a bug, whose name stays secret. The manifest must have faults: true. History
   * does not know of the bug. */
  bug(options?: { name?: string; blind?: number }): PlantedBug | null;
  bug(name?: string, options?: { blind?: number }): PlantedBug | null;
  bug(name?: string, blind?: number): PlantedBug | null;
  /** Goes back by n commits, or with by "edit" by n edits: all that one command did, or single ticks in a row. */
  undo(options?: { n?: number; by?: "tick" | "edit" }): Where;
  undo(n?: number, options?: { by?: "tick" | "edit" }): Where;
  undo(n?: number, by?: "tick" | "edit"): Where;
  /** Goes forward by n commits or n edits. */
  redo(options?: { n?: number; by?: "tick" | "edit" }): Where;
  redo(n?: number, options?: { by?: "tick" | "edit" }): Where;
  redo(n?: number, by?: "tick" | "edit"): Where;
  /** Goes to a tick of this branch, or of a named one, which becomes the current one; the future stays as a named
   * branch. While a capture runs no branch can be named. */
  goto(tick: number, options?: { branch?: string }): Where;
  goto(tick: number, branch?: string): Where;
  goto(options: { tick: number; branch?: string }): Where;
  /** Goes back to the last commit before the present state at which a condition held, such as "written(ledger==12,
   * layer==3)", "stale(ledger==12)" or "kl > 0.05": as a debugger runs back to its last stop. Without a condition the
   * breakpoints are asked. stoppedBy names what held. The future stays as a named branch. Where none ever held, the
   * session stays, and stoppedBy is null. */
  runBack(options?: { condition?: string }): Where & { stoppedBy: string | null };
  runBack(condition?: string): Where & { stoppedBy: string | null };
  /** Gives the history as a tree of entries: parents, ticks, edits in words, rows that left, branches, and which states
   * are kept. With since only entries from there on come. With packed, columns of numbers come as bytes, as the window
   * takes them. */
  timeline(options?: { since?: number; packed?: boolean }): Timeline;
  timeline(since?: number, options?: { packed?: boolean }): Timeline;
  timeline(since?: number, packed?: boolean): Timeline;
  /** Forgets all rows and starts over. */
  reset(): null;
  /** Writes a note at a tick of this branch, the present one unless given, and where it applies at a layer, a KV head
   * and a row of the ledger; without text it is a bookmark. Notes are no part of a state: undo leaves them alone.
   * Captures keep them, and forks have them. */
  note(options?: { text?: string; tick?: number; layer?: number; kvHead?: number; ledger?: number }): Note;
  note(text?: string, options?: { tick?: number; layer?: number; kvHead?: number; ledger?: number }): Note;
  note(text?: string, tick?: number, layer?: number, kvHead?: number, ledger?: number): Note;
  /** Gives a note another text. */
  changeNote(id: number, text: string): Note;
  changeNote(options: { id: number; text: string }): Note;
  /** Removes all notes, or the one with this id, and gives those that are left. */
  clearNotes(options?: { id?: number }): Note[];
  clearNotes(id?: number): Note[];
  /** Goes to the state of a note, on whichever branch; the future stays as a named branch. */
  gotoNote(id: number): Where;
  /** Gives rows of a table of the session, as columns: of what, which columns, where a condition holds, from which row
   * on and how many; next tells where the rest begins. Each table is also a method, which gives its rows as objects:
   * rows(0, { where: "score > 1" }). Columns and condition may ask facts of the expression language, where the table
   * has them: rows(0, { columns: ["ledger", "read"], where: "moved" }). */
  table(name: "rows" | "ledger" | "state" | "ticks" | "branches" | "edits" | "history" | "story" | "reads" | "decisions" | "breaks" | "watches" | "notes" | "bugs" | "facts" | "invariants" | "topk", options?: { of?: object; columns?: string[]; where?: string; begin?: number; limit?: number }): TableAnswer;
  table(options: { name: "rows" | "ledger" | "state" | "ticks" | "branches" | "edits" | "history" | "story" | "reads" | "decisions" | "breaks" | "watches" | "notes" | "bugs" | "facts" | "invariants" | "topk"; of?: object; columns?: string[]; where?: string; begin?: number; limit?: number }): TableAnswer;
  /** Gives the token ids of a text. */
  tokenise(text: string): number[];
  /** Gives the text of token ids. */
  detokenise(ids: number[]): string;
  /** Gives the logits of the next token. */
  logits(): number[];
  /** Gives the value of an expression now: a number, true or false, or a text; null where it is not known. Facts of a
   * tick speak of the commit that led here. */
  value(expression: string): number | boolean | string | null;
  /** Compares the live rows with a rebuild, by layer; with rows also each row. With attention also how far off the
   * output of attention is for the newest token, by layer and query head, as a share of the right one: over the rows
   * that the layer keeps, as they are stored, against the rows of all tokens, as a session computes them that evicts
   * and rounds nothing (f32). The query is that session's in both. This takes another pass. */
  drift(options?: { rows?: boolean; attention?: boolean }): Drift;
  drift(rows?: boolean, options?: { attention?: boolean }): Drift;
  drift(rows?: boolean, attention?: boolean): Drift;
  /** Gives the attention of the newest token by query head and row. */
  attention(layer: number, options?: { kvHead?: number }): number[][];
  attention(layer: number, kvHead?: number): number[][];
  attention(options: { layer: number; kvHead?: number }): number[][];
  /** Gives the attention of the tokens at positions begin (the newest unless given) to end over the resident rows of a
   * layer, by query head: of one head, or of all. A pass for each query, which changes nothing, computes it. The call
   * gives at most 4 194 304 values. With packed they come as bytes, 4 per value. */
  attentionMatrix(layer: number, options?: { head?: number; begin?: number; end?: number; kvHead?: number; packed?: boolean }): AttentionMatrix;
  attentionMatrix(layer: number, head?: number, options?: { begin?: number; end?: number; kvHead?: number; packed?: boolean }): AttentionMatrix;
  attentionMatrix(layer: number, head?: number, begin?: number, end?: number, kvHead?: number, packed?: boolean): AttentionMatrix;
  attentionMatrix(options: { layer: number; head?: number; begin?: number; end?: number; kvHead?: number; packed?: boolean }): AttentionMatrix;
  /** Gives K or V of one row, or both, also beside what a rebuild computes (a pass over the context) or what the state
   * before the last change held. */
  row(layer: number, index: number, options?: { which?: "k" | "v" | "both"; rotated?: boolean; kvHead?: number; compare?: "rebuild" | "before" }): StoredRow;
  row(layer: number, index: number, which?: "k" | "v" | "both", options?: { rotated?: boolean; kvHead?: number; compare?: "rebuild" | "before" }): StoredRow;
  row(layer: number, index: number, which?: "k" | "v" | "both", rotated?: boolean, kvHead?: number, compare?: "rebuild" | "before"): StoredRow;
  row(options: { layer: number; index: number; which?: "k" | "v" | "both"; rotated?: boolean; kvHead?: number; compare?: "rebuild" | "before" }): StoredRow;
  /** Finds the command that made a row differ from what a rebuild would compute, in a layer, or else in the last one
   * where it differs; the cause is null for an exact row. */
  why(ledger: number, options?: { layer?: number; kvHead?: number }): RowCause;
  why(ledger: number, layer?: number, options?: { kvHead?: number }): RowCause;
  why(ledger: number, layer?: number, kvHead?: number): RowCause;
  why(options: { ledger: number; layer?: number; kvHead?: number }): RowCause;
  /** Tells what the next token would be without some rows, in a fork: log probabilities of the k likeliest tokens, with
   * the rows and without, and the KL divergence. The rows leave all layers, and later rows keep what they took from
   * them; with rebuild the tokens leave the text, and all rows are computed again. With each also for every row alone:
   * its KL divergence, and the token that would be the likeliest (drop-one). Attention tells where a query looked,
   * this verb what came of it. The view Model shows the answer, and the colour Knock-out shows each. */
  knockOut(ledger: number[], options?: { rebuild?: boolean; k?: number; each?: boolean }): KnockOut;
  knockOut(ledger: number[], rebuild?: boolean, options?: { k?: number; each?: boolean }): KnockOut;
  knockOut(ledger: number[], rebuild?: boolean, k?: number, each?: boolean): KnockOut;
  knockOut(options: { ledger: number[]; rebuild?: boolean; k?: number; each?: boolean }): KnockOut;
  /** Tells how the present state differs from that of another tick of the branch, or of another branch: tokens, rows by
   * layer, exactness and the KL divergence of the next token. Without both, it compares with the state before the last
   * edit that did more than generate. s.at(40).difference(12) compares two older ticks. */
  difference(options?: { tick?: number; branch?: string }): Difference;
  difference(tick?: number, options?: { branch?: string }): Difference;
  difference(tick?: number, branch?: string): Difference;
  /** Tells how the present state differs from what a capture leads to, at its end or at a tick, or from a cache file.
   * The cache file of another program (llama.cpp, vLLM, transformers, ...) is read as the smallest explanation of its
   * rows says; the answer has the explanation. */
  differenceFrom(path: string, options?: { tick?: number }): Difference;
  differenceFrom(path: string, tick?: number): Difference;
  differenceFrom(options: { path: string; tick?: number }): Difference;
  /** Finds the first tick at which the present branch and another one differ in anything that stateHash() covers,
   * executed from where they part; null if one only goes on from the other. */
  firstDifference(branch: string): number | null;
  /** Adds an expression whose value is published, and shown in the window, with every state from now on. The answer
   * lists all watches. Forks have them too. */
  watch(expression: string): Watch[];
  /** Removes all watches, or the one with this id. */
  clearWatches(options?: { id?: number }): Watch[];
  clearWatches(id?: number): Watch[];
  /** Gives the ring of a layer: pointer, head, offset, wraps, slots and named views; null where the layer is not stored
   * as a ring. */
  ring(layer: number, options?: { kvHead?: number }): Ring | null;
  ring(layer: number, kvHead?: number): Ring | null;
  ring(options: { layer: number; kvHead?: number }): Ring | null;
  /** Tells how a layer's rows are stored: layout, formats, slots, bytes, ring and pages; with free also the free slots.
   * If another layout would make the last commits of the session much cheaper, by their measured time and the bytes
   * that they would have moved there, advice names it. */
  storage(layer: number, options?: { free?: boolean; kvHead?: number }): LayerStorage;
  storage(layer: number, free?: boolean, options?: { kvHead?: number }): LayerStorage;
  storage(layer: number, free?: boolean, kvHead?: number): LayerStorage;
  storage(options: { layer: number; free?: boolean; kvHead?: number }): LayerStorage;
  /** Measures the error of stored rows by layer in a pass over all rows, for K and for V; for keys also as attention
   * logits. With rows there is also one value per position, null where a layer has no row; with packed these columns
   * come as bytes, 4 per row, as the window takes them. With types k and v the figures are as they would be in these
   * types, which are tried on rows of the pass: the session does not change, and counts are those of the pass. */
  quantisation(options?: { rows?: boolean; packed?: boolean; k?: "f32" | "f16" | "bf16" | "int8" | "fp8-e4m3"; v?: "f32" | "f16" | "bf16" | "int8" | "fp8-e4m3" }): LayerQuantisation[];
  quantisation(rows?: boolean, options?: { packed?: boolean; k?: "f32" | "f16" | "bf16" | "int8" | "fp8-e4m3"; v?: "f32" | "f16" | "bf16" | "int8" | "fp8-e4m3" }): LayerQuantisation[];
  quantisation(rows?: boolean, packed?: boolean, k?: "f32" | "f16" | "bf16" | "int8" | "fp8-e4m3", v?: "f32" | "f16" | "bf16" | "int8" | "fp8-e4m3"): LayerQuantisation[];
  /** Counts bytes of rows: live, allocated at capacity, reserved with history, moved by the last commit; the memory
   * behind them; the work of the back end, and on a device its memory now. */
  bytes(): MemoryBytes;
  /** Compares lifespans of rows without eviction with those that gates predicted: R2 and calibration per layer and KV
   * head. It makes one fresh pass in which nothing is evicted, as recordLifespans does. lifespans keeps at most so
   * many points of each head. */
  measureLifespans(options?: { points?: number }): LifespanFigures;
  measureLifespans(points?: number): LifespanFigures;
  /** Gives the last measurement with the points to draw, as the view Policy does; null before the first. Where the
   * measurement has the serial number since, the answer is that number alone. */
  lifespans(options?: { since?: number }): LifespanFigures | { serial: number } | null;
  lifespans(since?: number): LifespanFigures | { serial: number } | null;
  /** Tells what each layer's policy was asked to keep, and what it evicted. */
  policies(): PolicyAudit;
  /** Writes the cache to a file. native holds the whole state, with what policies observed. kvlab_cache.py turns
   * hf_tuple and hf_dynamic into live caches. llama_cpp is a sequence file that llama_state_seq_load_file reads; type
   * (f16) is that of the reader's K and V, and flash (true) says whether the reader uses flash attention; version is
   * 3, or 4 for a llama.cpp of October 2026 and later. vllm_cpu and vllm_cuda write a folder that vLLM's
   * ExampleConnector reads as its shared_storage_path, in the order of attention on x86 processors or on CUDA; type is
   * the model's there, and page is the reader's block size (128 on a CPU, 16 on CUDA). A form refuses a state that it
   * cannot hold. */
  saveCache(path: string, options?: { form?: "native" | "hf_tuple" | "hf_dynamic" | "llama_cpp" | "vllm_cpu" | "vllm_cuda"; type?: "f16" | "f32" | "bf16" | "q8_0" | "q4_0"; flash?: boolean; page?: number; version?: number }): SavedCache;
  saveCache(path: string, form?: "native" | "hf_tuple" | "hf_dynamic" | "llama_cpp" | "vllm_cpu" | "vllm_cuda", options?: { type?: "f16" | "f32" | "bf16" | "q8_0" | "q4_0"; flash?: boolean; page?: number; version?: number }): SavedCache;
  saveCache(path: string, form?: "native" | "hf_tuple" | "hf_dynamic" | "llama_cpp" | "vllm_cpu" | "vllm_cuda", type?: "f16" | "f32" | "bf16" | "q8_0" | "q4_0", flash?: boolean, page?: number, version?: number): SavedCache;
  saveCache(options: { path: string; form?: "native" | "hf_tuple" | "hf_dynamic" | "llama_cpp" | "vllm_cpu" | "vllm_cuda"; type?: "f16" | "f32" | "bf16" | "q8_0" | "q4_0"; flash?: boolean; page?: number; version?: number }): SavedCache;
  /** Replaces the session's content by a cache file, as one commit; content is the hash that the file must have. The
   * rows are labelled loaded. With verify each row is compared with what the model computes, at the price of a prompt,
   * and labelled exact; a file with other rows is refused (other_rows). The cache of another program is read as the
   * smallest explanation of its rows says; wrong rows stay wrong. */
  loadCache(path: string, options?: { content?: string; verify?: boolean }): LoadedCache;
  loadCache(path: string, content?: string, options?: { verify?: boolean }): LoadedCache;
  loadCache(path: string, content?: string, verify?: boolean): LoadedCache;
  loadCache(options: { path: string; content?: string; verify?: boolean }): LoadedCache;
  /** Records how long keys receive attention without eviction, as a file for training gates and for the oracle policy.
   * One fresh pass in which nothing is evicted finds for each layer, KV head and token: the last query whose attention
   * exceeds threshold (0.05); log4 of how long that is (at most cap, 6); whether that may not be the end of it (used
   * or born within the last stretch queries, 32); the attention received from queries behind position after (the end
   * of the last prompt). With keys the file also has the keys before k-norm and rotation. It is a safetensors file,
   * written whole; core/analysis/lifespans.h names the tensors. */
  recordLifespans(path: string, options?: { after?: number; threshold?: number; cap?: number; stretch?: number; keys?: boolean }): SavedLifespans;
  recordLifespans(path: string, after?: number, options?: { threshold?: number; cap?: number; stretch?: number; keys?: boolean }): SavedLifespans;
  recordLifespans(path: string, after?: number, threshold?: number, cap?: number, stretch?: number, keys?: boolean): SavedLifespans;
  recordLifespans(options: { path: string; after?: number; threshold?: number; cap?: number; stretch?: number; keys?: boolean }): SavedLifespans;
  /** Writes the commands of this branch to a file that replays them. */
  saveCapture(path: string): SavedCapture;
  /** Writes the commands of this branch to a file, and appends every later command as it ends. */
  startCapture(path: string): SavedCapture;
  /** Ends what startCapture began. Refused once where a full disk had ended it: the file has a part. */
  stopCapture(): { path: string } | null;
  /** Queues the expansion of a gist into its 32 children; now applies it at once. A node is start * 4 + level; tree()
   * lists them. Where the budget is full, room collapses the weakest blocks before it. */
  expand(node: number, options?: { room?: boolean; now?: boolean }): Queued;
  expand(node: number, room?: boolean, options?: { now?: boolean }): Queued;
  expand(node: number, room?: boolean, now?: boolean): Queued;
  expand(options: { node: number; room?: boolean; now?: boolean }): Queued;
  /** Queues the collapse of 32 siblings into their gist; now applies it at once. */
  collapse(node: number, options?: { now?: boolean }): Queued;
  collapse(node: number, now?: boolean): Queued;
  collapse(options: { node: number; now?: boolean }): Queued;
  /** Runs rounds of the focus allocator now, whatever is due; each is a tick. */
  refocus(options?: { rounds?: number }): TickReport[];
  refocus(rounds?: number): TickReport[];
  /** Sets the scores of the lens `script`: one per entry, between -1 and 1, above 0 = more detail. */
  setLensScores(scores: number[]): null;
  /** Appends tokens that may be taken back; step adds to them. Until accept or rollback nothing else may be edited. */
  speculate(tokens: number[]): TickReport;
  /** Keeps the speculative span. */
  accept(): { tick: number; moments: number };
  /** Removes the speculative span and restores the state before it. */
  rollback(): { tick: number; moments: number };
  /** Gives the working context, what the last edit made dirty and why, and the allocator's rounds. */
  tree(options?: { entries?: boolean }): WlodTree;
  tree(entries?: boolean): WlodTree;
}

interface Lanes {
  /** Does what prompt() of a session does, in all lanes. */
  prompt(text: string): LanesTick;
  /** Does what promptIds() of a session does, in all lanes. */
  promptIds(ids: number[]): LanesTick;
  /** Does what chat() of a session does, in all lanes. */
  chat(messages: ChatMessage[], options?: { template?: string; addGenerationPrompt?: boolean; more?: boolean }): LanesTick;
  chat(messages: ChatMessage[], template?: string, options?: { addGenerationPrompt?: boolean; more?: boolean }): LanesTick;
  chat(messages: ChatMessage[], template?: string, addGenerationPrompt?: boolean, more?: boolean): LanesTick;
  chat(options: { messages: ChatMessage[]; template?: string; addGenerationPrompt?: boolean; more?: boolean }): LanesTick;
  /** Does what score() of a session does, in all lanes. */
  score(text: string, options?: { each?: boolean }): LanesTick;
  score(text: string, each?: boolean): LanesTick;
  score(options: { text: string; each?: boolean }): LanesTick;
  /** Does what scoreIds() of a session does, in all lanes. */
  scoreIds(ids: number[], options?: { each?: boolean }): LanesTick;
  scoreIds(ids: number[], each?: boolean): LanesTick;
  scoreIds(options: { ids: number[]; each?: boolean }): LanesTick;
  /** Does what prefill() of a session does, in all lanes. */
  prefill(ids: number[], options?: { last?: boolean }): LanesTick;
  prefill(ids: number[], last?: boolean): LanesTick;
  prefill(options: { ids: number[]; last?: boolean }): LanesTick;
  /** Does what endPrefill() of a session does, in all lanes. */
  endPrefill(): LanesTick;
  /** Does what step() of a session does, in all lanes. */
  step(options?: { n?: number; tokens?: number[] }): LanesTick[];
  step(n?: number, options?: { tokens?: number[] }): LanesTick[];
  step(n?: number, tokens?: number[]): LanesTick[];
  /** Does what run() of a session does, in all lanes. */
  run(options?: { maxTicks?: number; reports?: number }): RunReport<LanesTick>;
  run(maxTicks?: number, options?: { reports?: number }): RunReport<LanesTick>;
  run(maxTicks?: number, reports?: number): RunReport<LanesTick>;
  /** Gives one row per lane with its differences from lane 0. */
  report(): LaneReport[];
  /** Gives the tokens that all lanes took, and how surprising each was to each lane. */
  losses(): LanesLosses;
  /** Tells how a lane differs from another one, lane 0 unless given: rows by layer, exactness and the KL divergence of
   * the next token. */
  difference(lane: number, options?: { of?: number }): Difference;
  difference(lane: number, of?: number): Difference;
  difference(options: { lane: number; of?: number }): Difference;
  /** Sets the tokens whose survival the lanes report, as places among the tokens that all lanes took. */
  needles(places: number[]): null;
}

interface Batch {
  /** Appends a text or token ids to each sequence, in passes made together; null for a sequence that gets none. */
  prompts(prompts: (string | number[] | null)[]): BatchTick;
  /** Runs ticks of all sequences until each has left: one token each, sampled by each for itself. There are fewer than
   * n where all have left. */
  step(options?: { n?: number }): BatchTick[];
  step(n?: number): BatchTick[];
  /** Ends one sequence of a batch and frees the memory that it has for itself. */
  release(sequence: number): null;
  /** Gives one row per sequence: tick, length, why it left. */
  report(): SequenceReport[];
  /** Counts memory of the pools of each sequence, its own and shared, and of all together. */
  bytes(): BatchBytes;
}
// end

interface Session {
  readonly tick: number;
  readonly length: number;
  /** Tokens written: where the next one goes. */
  position(): number;
  /** Tokens that still fit: the rows that the fullest cache layer still has room for, evicted rows not counted, as far as the
   * model's positions reach. A layer with a window always has room. */
  remaining(): number;
  /** True where remaining() is 0: the next token is refused with `capacity`. */
  isFull(): boolean;
  text(): string;
  tokens(): number[];
  /** 32 hexadecimal digits over everything the session remembers. */
  stateHash(): string;
  /** Ledger ids in context order; of the rows that one layer holds if a layer is given. */
  // options.kvHead: required where residency is by KV head.
  pos2ledger(layer?: number, options?: { kvHead?: number }): number[];
  /** Ledger ids of the tokens for which a condition holds: facts of rows speak of the token's row, as in
   * "brightness < 20 and exactness != 'exact'". */
  rowsWhere(condition: string): number[];
  /** The tick of the commit to which runBack() would go, without going there. */
  lastTick(condition?: string): number | null;
  /** The tick of the first commit up to the present state at which a condition held. firstTick("kl > 0.05") tells when a
   * session began to differ from a rebuild. */
  firstTick(condition?: string): number | null;
  /** The ticks of all commits up to the present state at which a condition held, ascending; with since from there on. */
  ticksWhere(condition: string, since?: number): number[];

  /** Any verb by its name, with named arguments; also those of lanes and batches, for a session that is open as several. */
  verb(name: string, args: object): any;
  /** The session as it was after another tick of its branch, or of another one: each method that reads or measures says what it
   * would have said then, and the session stays where it is. The first question executes commands up to that tick again, beside the
   * session and from the nearest state that history has; later ones step from there. fork() gives a session of its own in that
   * state, if it lies on this branch. Other methods are refused (not_a_query). */
  at(tick: number, options?: { branch?: string }): Session;
  /** A second session in the present state, shown in the window; the two share nothing but the model. */
  fork(): Session;

  /** Shows this session in the window. */
  show(): Session;
  close(): void;
}

/** A sweep's description; the manual's page Sweeps says what the keys mean. Unknown keys are errors that name them. */
interface SweepSpec {
  name?: string;
  about?: string;
  base?: Manifest;
  reference?: Manifest;
  axes?: (
    | { name: string; key: string; values: unknown[] }
    | { name: string; values: { label: string; set: Manifest; without?: string[] }[] }
    | { name: "budget"; budget: "ratio" | "tokens"; values: number[] }
  )[];
  seeds?: number[];
  prompts: (
    | { name: string; file?: string; set?: object; ask?: "after" | "inside"; stories?: number; questions?: number;
        chat?: boolean; max_new_tokens?: number }
    | { name?: string; task: string | string[]; length: number | number[]; depth?: number | number[]; samples?: number;
        ask?: "after" | "inside"; chat?: boolean; max_new_tokens?: number }
  )[];
  measure?: ("recall" | "kl" | "attention" | "needles" | "bytes" | "answers")[];
  /** What else is measured: see the manual's page Expressions. */
  expressions?: string[];
}
type SweepBudget = { ratio: number } | { tokens: number };
/** Cells that differ in their seed alone, together; low and high: 95 %, bootstrap over stories. */
interface SweepPoint {
  prompts: string; ask: string; series: string; budget?: SweepBudget;
  cells: number; failed: number; stories: number; asked: number; right: number;
  recall?: number; low?: number; high?: number;
  kl?: number; klAnswer?: number; bytes?: number; share?: number;
  /** Of generated prompts, and of answers that were generated. */
  task?: string; length?: number; answers?: number; score?: number; scoreLow?: number; scoreHigh?: number;
}
/** A line of results.jsonl: measures that were asked for, or an error. */
interface SweepRow {
  schema: number; index: number; id: string; prompts: string; task?: string; length?: number; ask: string; seed: number;
  axes: { [axis: string]: string }; budget?: SweepBudget;
  stories?: number; questions?: number; right?: number; recall?: number; recall_low?: number; recall_high?: number; recall_forced?: number;
  kl_mean?: number; kl_median?: number; kl_p99?: number; kl_answer?: number; dnll?: number; top1?: number;
  attention_kept?: number; needle_survival?: number; needle_answer?: number;
  rows_prompt?: number; rows_kept?: number; bytes_live?: number; bytes_reference?: number;
  answers?: number; score?: number; score_low?: number; score_high?: number; score_part?: number;
  answer_nll?: number; answer_tokens?: number;
  /** Means of the specification's expressions; null: known nowhere. */
  expressions?: { [expression: string]: number | null };
  by_story?: [number, number][]; by_score?: [number, number][]; by_distance?: [number, number, number][];
  error?: { code: string; what: string; why: string; remedy: string };
}
interface SweepResult { name: string; out: string; cells: number; found: number; failed: number; points: SweepPoint[]; rows: SweepRow[] }
/** A lane's figures of one tick, and those behind it. null: not measured. Lane 0 is the reference. */
interface LaneTick {
  lane: number;
  /** false: it had left before, and has no figures. */
  stepped: boolean;
  error?: TickReport["error"];
  /** KL(p_reference || p) of the next token, nats. */
  kl?: number | null;
  /** The loss of the token that was taken, beyond that of the reference, in nats. */
  dnll?: number | null;
  /** 1 if the likeliest next token is the reference's. */
  top1?: number | null;
  /** Share of the reference's attention mass of the newest query on rows that the lane has, mean over layers. */
  massKept?: number | null;
  /** Jaccard overlap of the resident tokens, mean over layers. */
  overlap?: number | null;
  /** Share of the needles that are resident, per layer. */
  needles?: (number | null)[];
  /** Microseconds of its tick; of a pass made together its share. */
  us?: number;
  weightBytes?: number;
}

/** The reference's report, with the figures of every lane. */
interface LanesTick extends TickReport {
  tokens: number[];
  lanes: LaneTick[];
  /** Bytes of weights that the ops of all lanes read. */
  weightBytes: number;
  /** One pass for all lanes; else `apart` says why not. */
  together: boolean;
  apart?: string;
}

interface LaneReport {
  lane: number;
  label: string;
  changes: Manifest;
  inStep: boolean;
  /** Present if the lane is out of step: the last tick that it has in common with the others, and why it left. */
  exitTick?: number;
  error?: TickReport["error"];
  /** Ticks taken in lockstep; means are over those that the lane took. */
  ticks: number;
  kl: number | null;
  klMedian: number | null;
  klP99: number | null;
  klLast: number | null;
  dnll: number | null;
  top1: number | null;
  massKept: number | null;
  overlap: number | null;
  /** Per layer, as of now; of a lane that has left, as of the tick before it did. */
  layers: { massKept: (number | null)[]; overlap: (number | null)[]; needles: (number | null)[] };
  /** Bytes of resident rows, and of the pools. */
  bytes: number;
  bytesAllocated: number;
  us: number | null;
  /** Bytes of weights that the lane's ops read for the last commit; a pass made together counts for lane 0. */
  weightBytes: number;
}

/** The surprise of each lane at each token that all lanes took, in order. */
interface LanesLosses {
  tokens: number[];
  texts: string[];
  /** Negative log-likelihoods in nats; null where not measured: tokens of ticks and scored tokens are. A lane that left
   *  has those of the tokens before. */
  lanes: { lane: number; losses: (number | null)[] }[];
}

/** Negative log-likelihoods in nats; null of the first token of a context, and behind an edit. */
interface Score {
  losses: (number | null)[];
  scored: number;
  nll: number | null;
  perplexity: number | null;
  /** Why the tokens behind the losses were not taken; the others stay. */
  error?: object;
}

/** Sessions in lockstep on the same tokens, over one set of weights. */
interface Lanes {
  readonly size: number;
  /** A lane with all verbs; one that gives it tokens of its own, or takes some back, takes it out of step for good. */
  session(lane: number): Session;
  /** Shows them in the window: lane 0 is what the other views show. */
  show(): Lanes;
  close(): void;
}

/** The effect of one call on each sequence of a batch. */
interface BatchTick {
  sequences: {
    sequence: number;
    /** false: it took no part. The other figures are those of its tick. */
    took: boolean;
    ok?: boolean;
    tick?: number;
    token?: number | null;
    text?: string;
    error?: TickReport["error"];
    /** Why it takes no part in later steps: "end_of_text" or "error". */
    left?: string;
  }[];
  /** Bytes of weights that the ops of all sequences read. */
  weightBytes: number;
  /** Microseconds of all sequences. */
  us: number;
  /** One pass for several sequences; else `apart` says why not. */
  together: boolean;
  apart?: string;
}

interface SequenceReport {
  sequence: number;
  released: boolean;
  tick?: number;
  length?: number;
  /** Why and when it left. It joins again when a verb gives it another state. */
  left: null | { why: string; tick: number; error?: TickReport["error"] };
}

/** Memory of the pools, as MemoryBytes of a session has it. total: all pages once; copies: what as many sessions would take that
 * share nothing. */
interface BatchBytes { sequences: { sequence: number; own: number; shared: number }[]; total: number; copies: number }

/** Sequences that began as one session, stepped together; each is a session of its own. */
interface Batch {
  readonly size: number;
  /** One sequence with all verbs. */
  sequence(sequence: number): Session;
  prompt(sequence: number, text: string): TickReport;
  text(sequence: number): string;
  /** Shows it in the window: the first sequence is what the views show. */
  show(): Batch;
  close(): void;
}

interface Lab {
  /** So many sequences that begin as the session is now, which stays as it is. together: false makes one pass per sequence. */
  batch(session: Session, size: number, options?: { together?: boolean }): Batch;
  /** Lane 0 is the session as it is now, which stays as it is; the others differ from it by the keys of `changes` and take
   * its tokens. Model, back end, weights, numerics and dtype are the same for all. together: false makes one pass per lane. */
  lanes(session: Session, changes: Manifest[], options?: { together?: boolean; needles?: number[] }): Lanes;
  open(manifest?: Manifest): Session;
  /** Runs a sweep, shown in the view Sweep as it goes: an object, or a file ("resource:sweeps/smartkv.json"). Files go to `out`,
   * NAME.sweep unless given. A cell that fails is a row with its error; what the sweep itself runs into is thrown. */
  sweep(spec: SweepSpec | string, options?: { out?: string; jobs?: number; resume?: boolean }): SweepResult;
  openCapture(path: string): Session;
  /** A cell of a sweep as a session that has read the story, was asked the question and has answered. `question` counts the cell's
   * questions from 0, in the order of its stories and answers. */
  openCell(folder: string, cell: number, question?: number): Session;
  /** Text (UTF-8) of a file, from --out or the current folder; "resource:demo/story.txt" comes with the program. */
  readText(path: string): string;
  /** Writes a file whole or not at all; relative paths go to --out. */
  writeText(path: string, text: string): { path: string; bytes: number };
  /** The session that the window shows. */
  current(): Session | null;
}

interface View {
  show(id: string): void;
  /** layer counts cache layers, as the lines of the map do. rows are positions that are selected together. */
  focus(focus: { tick?: number; layer?: number; head?: number; row?: number; ledger?: number; rows?: number[] }): void;
  /** Sets what a view's controls set: view.set("map", {quantity: "staleness"}). Console names them for every click. */
  set(id: string, options: { [name: string]: unknown }): void;
  theme(name: "dark" | "light"): void;
  size(width: number, height: number): void;
  /** A click at a place of a view, or of "window", in device-independent pixels, as a person makes it: the view is in front and
   * shows the current tick, and the call returns when what the click began is done. modifiers: "Ctrl", "Shift", "Ctrl+Shift", .. */
  click(id: string, x: number, y: number, options?: { button?: "left" | "right" | "middle"; modifiers?: string; twice?: boolean }): void;
  /** The mouse goes down at `from`, moves, and comes up at `to`. */
  drag(id: string, from: [number, number], to: [number, number], options?: { button?: "left" | "right" | "middle"; modifiers?: string }): void;
  /** Keys for what of the view has the keyboard, shortcuts included: "Ctrl+Z", "Return", "Shift+Right". An open menu takes them first. */
  keys(id: string, keys: string): void;
  /** Types a text; a line end is Return. */
  type(id: string, text: string): void;
  /** From now on views and results show every measured time as 0 and the log midnight: two runs of a script write the same bytes.
   * `kvlab run --frozen-clock` does the same before the script begins. */
  freezeClock(): void;
  /** Writes a view or "window" as the picture that the suffix names: .png, or .svg and .pdf, which hold shapes and texts.
   * Waits until the view shows the current tick. Sizes in device-independent pixels; dpr: pixels of a PNG for each. The
   * answer has the pixels of the PNG; of the others width and height as above. */
  screenshot(what: string, path: string, options?: { width?: number; height?: number; dpr?: number }): { path: string; width: number; height: number };
  /** The text of a view, once the view shows the current tick; of "window" the status bar and all visible views. */
  dump(what: string): string;
  /** Runs a command of the registry (`kvlab list commands`). */
  command(id: string, args?: { [name: string]: unknown }): void;
  list(): string[];
  /** Shows a line above the views and waits for Next; goes on at once without a display. */
  caption(text: string): void;
  /** True where somebody watches: in the window, not under `kvlab run`. */
  interactive(): boolean;
}

declare const lab: Lab;
declare const view: View;
  /** The arguments that follow -- on the command line. */
declare const args: string[];
/** As in browsers: milliseconds since the script began, to the microsecond. Times differ from run to run. */
declare const performance: { now(): number };
declare function log(...values: unknown[]): void;
declare function expect(condition: unknown, message?: string): void;
/** Numbers, arrays and objects, element by element. */
declare function expectNear(a: unknown, b: unknown, tolerance?: { abs?: number; rel?: number }, message?: string): void;
/** The picture of a view, or of "window", is the one in `file`, which stands beside the script (in the current folder for the
 * console). A difference leaves NAME.actual, NAME.expected and NAME.diff in --out; `kvlab run --update` writes `file` instead. */
declare function expectImage(what: string, file: string, options?: {
  width?: number; height?: number; dpr?: number;
  /** The error that a colour channel may have, 0 .. 255, and the share of the pixels that may have a larger one. */
  tolerance?: number; share?: number;
  /** [x, y, width, height] in device-independent pixels: what is inside is not compared. */
  mask?: [number, number, number, number][];
  /** [x, y, width, height]: only this part is compared. */
  rect?: [number, number, number, number];
}): void;
/** The same for a text: a text names a view or "window" (view.dump), any other value is compared as JSON. Parts that a mask,
 * a regular expression, matches are not compared. */
declare function expectDump(what: unknown, file: string, options?: { mask?: RegExp | string | (RegExp | string)[] }): void;
/** A named test of a file NAME.test.js, which `kvlab test` runs; a failed test does not end the others. */
declare function test(name: string, fn: () => void): void;
/** Runs before each test of the file. */
declare function before(fn: () => void): void;
/** Runs after each test of the file, also after one that failed. */
declare function after(fn: () => void): void;
/** Returns what was thrown. */
declare function expectError(fn: () => unknown, code?: string): KvlabError;
