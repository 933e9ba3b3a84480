/** Functions of loom.h as C has them, for what the package welvet leaves out. */
package welvet.abi;
