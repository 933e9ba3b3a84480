/* The bytes of a file, MODEL, in the program's read-only data: they are part of the executable and are read from it page
   by page, when somebody looks at them. For ELF, which Linux and the BSDs have. */
    .section .rodata
    .balign 64
    .global embedded_model, embedded_model_end
embedded_model:
    .incbin MODEL
embedded_model_end:
    .section .note.GNU-stack, "", %progbits
