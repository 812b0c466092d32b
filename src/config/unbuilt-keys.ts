/**
 * Keys of capabilities that are described but not built yet. Each is a fault that says so: a setting that is
 * accepted and never read would let people rely on it.
 */
export const UNBUILT_KEYS: ReadonlySet<string> = new Set([...['notify', 'escalateTo', 'fallbackAfter']]);

export const NOT_AVAILABLE = 'is not available in this version';
