import type { ConfirmationId } from '../ids.ts';
import type { Locale, LocalizedText } from '../locale.ts';
import type { ReasonMode } from '../verdict.ts';

/**
 * One request as every surface shows it, in no platform's terms. Strings that came from an agent, a model or a
 * person are already made visible (control, bidi and zero-width characters escaped); a renderer still puts them
 * into plain-text elements only, and cuts nothing that is decisive.
 */
export interface Card extends CardInLanguage {
  /** The same card in every other language, line by line the same: for platforms whose messages carry several. */
  readonly translations: readonly CardInLanguage[];
}

export interface CardInLanguage {
  readonly confirmationId: ConfirmationId;
  /** The version of the request that this card shows. */
  readonly version: number;
  readonly locale: Locale;
  readonly state: CardState;
  /** A freeze keeps the call from running, whatever people decide. */
  readonly frozen: boolean;
  /** Headline in the card's language: what state it is in, and for what. */
  readonly title: string;
  readonly tool: string;
  /** Each argument on a line of its own; amount, currency and payee first. */
  readonly lines: readonly CardLine[];
  /** How many arguments found no line at all; a renderer that drops lines adds them. The full request has them. */
  readonly linesLeftOut: number;
  /** Warnings in the card's language: hidden characters found, requester named by the agent, … */
  readonly warnings: readonly string[];
  /** The agent's own words, labelled and quoted as such; null where it sent none. */
  readonly summary: CardFact | null;
  /** What everybody who decides has to know, in the card's language and order: for whom, by which agent, votes, deadline. */
  readonly facts: readonly CardFact[];
  /** By what it is found again: policy, code, run, session. Shown more softly where a platform can. */
  readonly references: readonly CardFact[];
  /** What became of it, in the card's language: whether it ran, who decided, the reason, when. Empty while pending. */
  readonly outcome: readonly CardFact[];
  readonly verificationCode: string;
  /**
   * The beginning of the arguments' digest, drawn small at the very end: by it a card is matched with the record. Null
   * where something is masked, since what is short could be guessed from it.
   */
  readonly digest: CardFact | null;
  /** The page with everything on it. */
  readonly link: string;
  readonly linkLabel: string;
  /** The page of the rejected request that this one follows; null where it follows none. */
  readonly followedLink: CardLink | null;
  /** What a person may do on the card; none once nothing can be stopped any more. */
  readonly actions: CardActions;
}

/** Drives colour and icon; `approved` splits by what became of the grant. */
export type CardState =
  | 'pending'
  | 'approved'
  | 'cooling-off'
  | 'executing'
  | 'succeeded'
  | 'failed'
  | 'unknown'
  | 'lapsed'
  | 'revoked'
  | 'rejected'
  | 'expired'
  | 'cancelled'
  | 'undeliverable';

export interface CardLine {
  /** What the argument is called (`memo`, `items[0].sku`), or its JSON Pointer; made visible. */
  readonly label: string;
  readonly value: string;
  /** Decisive lines come first and are never cut; a card that cannot show one in full has no approve button. */
  readonly decisive: boolean;
}

export interface CardLink {
  readonly label: string;
  readonly url: string;
}

export interface CardFact {
  readonly label: string;
  readonly value: string;
}

export type CardActions =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'decide';
      readonly reason: ReasonMode;
      /** False where the card could not show what decides: then there is no approve button. */
      readonly approvable: boolean;
      readonly labels: {
        readonly approve: string;
        readonly reject: string;
        readonly reason: string;
        readonly submit: string;
        readonly cancel: string;
      };
    }
  /** The approval may be taken back while it cools off: one button, one tap, no reason asked. */
  | { readonly kind: 'revoke'; readonly label: string }
  /** Nobody knows whether it took effect: people say what they found, and have to say how they know. */
  | {
      readonly kind: 'settle';
      readonly labels: {
        readonly succeeded: string;
        readonly failed: string;
        /** Null where running it again is not offered. */
        readonly run_again: string | null;
        /** Over the field for what they found. */
        readonly detail: string;
      };
    };

/** A notice to one person who tapped. */
export interface Notice {
  readonly level: 'success' | 'info' | 'warning' | 'error';
  readonly text: LocalizedText;
}

/** What a channel really sent: kept with its digest, so that it can be shown later what a person saw. */
export interface RenderedCard {
  /** The platform's message payload, as JSON text. */
  readonly payload: string;
  /** False where the channel's limits let a decisive field not be shown in full. */
  readonly decisiveShown: boolean;
}
