/** Of every command that reads the configuration. */
export const CONFIG_OPTION = ['-c, --config <file>', 'the configuration', 'countersign.yaml'] as const;
