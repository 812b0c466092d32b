import type { LocalizedText } from '../locale.ts';

/** What one step of a check of a channel found. */
export interface ChannelFinding {
  /** `skipped`: it could not be found out here, which by itself is no fault. */
  readonly state: 'ok' | 'failed' | 'skipped';
  /** For operators; never a secret. */
  readonly text: LocalizedText;
  /** What to do about it, and where to click. */
  readonly advice: LocalizedText | null;
}

export interface DiagnosisInput {
  /** Where the platform has to send its callbacks; not used by a channel that connects by itself. */
  readonly callbackUrl: string;
  /** What the configuration wants of this channel beside cards in its chat. */
  readonly needs: {
    /** Direct messages to people. */
    readonly direct: boolean;
    /** The directory: some people are known by an address alone. */
    readonly directory: boolean;
  };
  readonly signal: AbortSignal;
}

export const passed = (text: LocalizedText, advice: LocalizedText | null = null): ChannelFinding => ({
  state: 'ok',
  text,
  advice,
});
export const failed = (text: LocalizedText, advice: LocalizedText | null): ChannelFinding => ({
  state: 'failed',
  text,
  advice,
});
export const skipped = (text: LocalizedText, advice: LocalizedText | null = null): ChannelFinding => ({
  state: 'skipped',
  text,
  advice,
});
/** Both languages say the same: an error as a platform words it. */
export const verbatim = (text: string): LocalizedText => ({ 'zh-CN': text, 'en-US': text });

/** Where nothing answers, or something that is not the platform. `setting` names its address in the configuration. */
export const notReached = (setting: string): LocalizedText => ({
  'zh-CN': `无应答，或应答的不是该平台：检查 ${setting}、域名解析、防火墙，以及途中要求登录或改写应答的代理。`,
  'en-US': `Nothing answers, or something that is not the platform: check ${setting}, DNS and firewall, and any proxy in between that asks for a sign-in or changes answers.`,
});
