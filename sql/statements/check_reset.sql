-- Back from the definition's owner.
RESET ROLE
